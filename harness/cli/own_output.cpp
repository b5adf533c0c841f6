// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/own_output.hpp"

#include <algorithm>
#include <cctype>

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

}  // namespace stepleak
