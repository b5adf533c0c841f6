// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/symboliser.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

namespace stepleak {
namespace {

struct Place {
  std::string object;
  std::uintptr_t offset = 0;
};

// Return addresses point behind the call; one byte less lies inside it.
Place place_of(const void* address) {
  Dl_info info{};
  if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  std::error_code error;
  auto object = std::filesystem::canonical(info.dli_fname, error).string();
  // dladdr names the program itself as it was called, which may be a bare name.
  if (error) object = std::filesystem::read_symlink("/proc/self/exe", error).string();
  return {object, reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(info.dli_fbase) - 1};
}

bool is_foreign(const std::string& object) {
  return object.empty() || object.find("/torch/lib/") != std::string::npos || object.starts_with("/usr/lib") ||
         object.starts_with("/lib") || object.find("/libpython") != std::string::npos ||
         object.find("/libstepleak.so") != std::string::npos;
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char letter : text) result += letter == '\'' ? "'\\''" : std::string(1, letter);
  return result + "'";
}

// With -a each address is echoed before its frames, which tells them apart.
std::vector<std::string> addr2line(const std::string& object, const std::vector<std::uintptr_t>& offsets) {
  auto command = fmt::format("addr2line -a -i -f -C -e {}", quoted(object));
  for (const auto offset : offsets) command += fmt::format(" 0x{:x}", offset);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen((command + " 2>/dev/null").c_str(), "r"),
                                                             ::pclose);
  std::vector<std::string> lines;
  std::string line;
  for (int letter = 0; pipe && (letter = std::fgetc(pipe.get())) != EOF;) {
    if (letter != '\n') {
      line += static_cast<char>(letter);
      continue;
    }
    lines.push_back(std::move(line));
    line.clear();
  }
  return lines;
}

// "scenarios::Trainer::step" of "scenarios::(anonymous namespace)::Trainer::step(int)".
std::string without_parameters(std::string function) {
  static constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  for (auto at = function.find(kAnonymous); at != std::string::npos; at = function.find(kAnonymous)) {
    function.erase(at, kAnonymous.size());
  }
  return function.substr(0, function.find('('));
}

// "/home/me/train.cpp:41 (discriminator 2)" of compiler-relative or absolute paths.
Frame frame_of(const std::string& function, const std::string& place) {
  const auto colon = place.rfind(':');
  Frame frame;
  frame.function = without_parameters(function);
  if (colon == std::string::npos || place.starts_with("??")) return frame;
  frame.file = std::filesystem::path(place.substr(0, colon)).lexically_normal().string();
  frame.line = std::atoi(place.c_str() + colon + 1);
  return frame;
}

}  // namespace

std::unordered_map<const void*, std::vector<Frame>> symbolise_addresses(const std::vector<const void*>& addresses) {
  std::map<std::string, std::map<std::uintptr_t, std::vector<const void*>>> by_object;
  for (const auto* address : addresses) {
    const auto place = place_of(address);
    if (!is_foreign(place.object)) by_object[place.object][place.offset].push_back(address);
  }
  std::unordered_map<const void*, std::vector<Frame>> frames;
  for (const auto& [object, by_offset] : by_object) {
    std::vector<std::uintptr_t> offsets;
    for (const auto& [offset, same] : by_offset) offsets.push_back(offset);
    const auto lines = addr2line(object, offsets);
    const std::vector<const void*>* current = nullptr;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].starts_with("0x")) {
        const auto found = by_offset.find(std::stoull(lines[i], nullptr, 16));
        current = found == by_offset.end() ? nullptr : &found->second;
      } else if (current != nullptr && i + 1 < lines.size()) {
        const auto frame = frame_of(lines[i], lines[i + 1]);
        for (const auto* address : *current) frames[address].push_back(frame);
        ++i;
      }
    }
  }
  return frames;
}

std::string SourceLines::line_of(const std::string& file, int line) {
  const auto [entry, is_new] = files_.try_emplace(file);
  if (is_new) {
    std::ifstream in(file);
    for (std::string text; std::getline(in, text);) entry->second.push_back(text);
  }
  if (line < 1 || static_cast<std::size_t>(line) > entry->second.size()) return {};
  const auto& text = entry->second[static_cast<std::size_t>(line) - 1];
  const auto begin = text.find_first_not_of(" \t");
  return begin == std::string::npos ? std::string() : text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

}  // namespace stepleak
