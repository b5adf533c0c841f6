// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/report/outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "harness/base/errors.hpp"
#include "harness/base/files.hpp"

namespace stepleak {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view without_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text;
}

bool begins_with_word(std::string_view text, std::string_view word) {
  return text.size() >= word.size() && std::equal(word.begin(), word.end(), text.begin(), [](char ours, char theirs) {
           return ours == std::tolower(static_cast<unsigned char>(theirs));
         });
}

// The brackets alone begin sections of settings and templates, too.
bool begins_as_json(std::string_view text) {
  const auto first = text.empty() ? '\0' : text.front();
  if (first != '{' && first != '[') return false;
  const auto next = without_blanks(text.substr(1));
  if (next.empty()) return false;
  return first == '{' ? next.front() == '"' || next.front() == '}' : next.front() == '{' || next.front() == ']';
}

// What people write by hand; no result has such a name, be it there or not.
bool is_source(const std::string& path) {
  static constexpr std::string_view kEndings[] = {".py",  ".pyi", ".ipynb", ".toml", ".c",  ".cc",
                                                  ".cpp", ".h",   ".hpp",   ".cu",   ".sh", ".md"};
  return std::any_of(std::begin(kEndings), std::end(kEndings), [&](auto ending) { return path.ends_with(ending); });
}

// One file may be named in several ways; an output that is not asked for is nowhere.
std::filesystem::path place_of(const std::string& output) {
  if (output.empty() || output == kStandardOutput) return output;
  std::error_code unusable;
  const auto place = std::filesystem::weakly_canonical(std::filesystem::absolute(output, unusable), unusable);
  return unusable ? std::filesystem::path(output) : place;
}

}  // namespace

bool begins_as_output(std::string_view beginning) {
  constexpr std::string_view kGzip = "\x1f\x8b";
  if (beginning.starts_with(kGzip)) return true;
  const auto text = without_blanks(beginning);
  return begins_as_json(text) || begins_with_word(text, "<?xml") || begins_with_word(text, "<!doctype html");
}

bool is_of_others(const std::filesystem::path& file) {
  std::error_code unusable;
  if (std::filesystem::symlink_status(file, unusable).type() != std::filesystem::file_type::regular) return false;
  if (std::filesystem::file_size(file, unusable) == 0) return false;
  constexpr std::size_t kEnough = 256;
  return !begins_as_output(read_beginning(file, kEnough));
}

void check_outputs(const std::vector<std::string>& outputs, const std::vector<std::string>& judged_files) {
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    if (output->empty()) continue;
    std::error_code missing;
    const bool is_judged = std::any_of(judged_files.begin(), judged_files.end(), [&](const auto& file) {
      return std::filesystem::equivalent(*output, file, missing);
    });
    if (is_judged || is_source(*output)) {
      throw usage_error(
          fmt::format("{} is {}, and would be overwritten", *output, is_source(*output) ? "code" : "an input"),
          "name another file");
    }
    if (is_of_others(*output)) {
      throw usage_error(fmt::format("{} is there, and is nothing that stepleak wrote", *output),
                        "name another file, or remove this one");
    }
    const auto place = place_of(*output);
    if (std::any_of(outputs.begin(), output, [&](const auto& other) { return place_of(other) == place; })) {
      throw usage_error(fmt::format("{} is named for two outputs", *output), "name two files");
    }
    check_writable(*output);
  }
}

}  // namespace stepleak
