// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/explain/symboliser.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>

#include "harness/base/source_root.hpp"
#include "harness/base/subprocess.hpp"

namespace stepleak {
namespace {

namespace fs = std::filesystem;

/// Where an address lies, as the object's debug information counts.
struct Place {
  std::string object;
  std::uintptr_t address = 0;
};

// The program itself has no name among the loaded objects.
std::string file_of(const link_map& object) {
  std::error_code error;
  if (object.l_name == nullptr || *object.l_name == '\0') return fs::read_symlink("/proc/self/exe", error).string();
  const auto file = fs::canonical(object.l_name, error).string();
  return error ? object.l_name : file;
}

std::optional<Place> place_of(const void* address) {
  Dl_info info{};
  link_map* object = nullptr;
  if (::dladdr1(address, &info, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) == 0 || object == nullptr) {
    return std::nullopt;
  }
  // The bias is 0 for a program that is not position-independent: its addresses are those of the file. A return
  // address points behind the call; one byte less lies inside it.
  return Place{file_of(*object), reinterpret_cast<std::uintptr_t>(address) - object->l_addr - 1};
}

/// Objects whose frames are nobody's step: torch's, the interpreter's, the C library's folder and our own.
class ForeignObjects {
 public:
  ForeignObjects() {
    ::dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* self) {
          static_cast<ForeignObjects*>(self)->look_at(object->dlpi_name);
          return 0;
        },
        this);
  }

  [[nodiscard]] bool contains(const fs::path& object) const {
    const auto name = object.filename().string();
    if (name.starts_with("libpython") || name.starts_with("libstepleak.so")) return true;
    const auto folder = object.parent_path();
    if (folder == torch_folder_) return name.starts_with("libtorch") || name.starts_with("libc10");
    return folder == system_folder_;
  }

 private:
  void look_at(const fs::path& object) {
    std::error_code error;
    const auto name = object.filename().string();
    if (name == "libc.so.6") system_folder_ = fs::canonical(object, error).parent_path();
    if (name.starts_with("libtorch_cpu.so")) torch_folder_ = fs::canonical(object, error).parent_path();
  }

  fs::path system_folder_;
  fs::path torch_folder_;
};

using SameAddress = std::map<std::uintptr_t, std::vector<const void*>>;

// Of a library with gigabytes of debug information it may take minutes, and places are not worth a verdict.
constexpr std::chrono::seconds kMostForAnObject{20};

// With -a each address is echoed before its frames, which tells them apart.
ProgramEnd addr2line(const std::string& object, const SameAddress& addresses) {
  std::string input;
  for (const auto& [address, same] : addresses) input += fmt::format("0x{:x}\n", address);
  return run_program({"addr2line", "-a", "-i", "-f", "-C", "-e", object}, input, kMostForAnObject);
}

// Our own objects name their files relative to the checkout; whoever opens or compares one needs it whole.
std::string whole_path(const fs::path& file) {
  const auto ours = fs::path(STEPLEAK_SOURCE_ROOT) / file;
  std::error_code error;
  return file.is_relative() && fs::exists(ours, error) ? ours.string() : file.string();
}

// "/home/me/train.cpp:41 (discriminator 2)" of compiler-relative or absolute paths.
Frame frame_of(const std::string& function, const std::string& place) {
  const auto colon = place.rfind(':');
  Frame frame;
  frame.function = function_name(function);
  if (colon == std::string::npos || place.starts_with("??")) return frame;
  frame.file = whole_path(fs::path(place.substr(0, colon)).lexically_normal());
  frame.line = std::atoi(place.c_str() + colon + 1);
  return frame;
}

// Frames by the address that is echoed before them.
std::map<std::uintptr_t, std::vector<Frame>> parsed(const std::string& output) {
  std::map<std::uintptr_t, std::vector<Frame>> frames;
  std::vector<Frame>* current = nullptr;
  std::istringstream lines(output);
  std::string place;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0x")) {
      current = &frames[std::strtoull(line.c_str(), nullptr, 16)];
    } else if (current != nullptr && std::getline(lines, place)) {
      current->push_back(frame_of(line, place));
    }
  }
  return frames;
}

}  // namespace

std::string function_name(std::string demangled) {
  static constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  static constexpr std::string_view kOperator = "operator";
  for (auto at = demangled.find(kAnonymous); at != std::string::npos; at = demangled.find(kAnonymous)) {
    demangled.erase(at, kAnonymous.size());
  }
  std::size_t begin = 0;
  int depth = 0;  // in template arguments, and in what names a lambda
  for (std::size_t i = 0; i < demangled.size(); ++i) {
    const char c = demangled[i];
    if (depth == 0 && demangled.compare(i, kOperator.size(), kOperator) == 0) {
      // Its parameters begin behind its symbol, which may be a pair of parentheses or have angle brackets.
      const auto symbol = i + kOperator.size();
      const auto parameters = demangled.find('(', demangled.compare(symbol, 2, "()") == 0 ? symbol + 2 : symbol);
      return demangled.substr(begin, parameters == std::string::npos ? parameters : parameters - begin);
    }
    if (depth == 0 && c == '(') return demangled.substr(begin, i - begin);
    if (depth == 0 && c == ' ') begin = i + 1;  // what stood before is the type that a template returns
    if (c == '<' || c == '{' || c == '(') ++depth;
    if (c == '>' || c == '}' || c == ')') --depth;
  }
  return demangled.substr(begin);
}

SymbolisedAddresses symbolise_addresses(const std::vector<const void*>& addresses) {
  const ForeignObjects foreign;
  std::map<std::string, SameAddress> by_object;
  for (const auto* address : addresses) {
    const auto place = place_of(address);
    if (place && !foreign.contains(place->object)) by_object[place->object][place->address].push_back(address);
  }
  SymbolisedAddresses symbolised;
  for (const auto& [object, same] : by_object) {
    const auto end = addr2line(object, same);
    const auto frames = parsed(end.output);
    std::size_t unnamed = 0;
    for (const auto& [place, at_place] : same) {
      const auto found = frames.find(place);
      unnamed += found == frames.end() ? 1 : 0;
      for (const auto* address : at_place) {
        if (found != frames.end()) symbolised.frames[address] = found->second;
      }
    }
    if (end.is_success() && unnamed == 0) continue;
    symbolised.notes.push_back(fmt::format("addr2line named {} of {} places of {}: {}", same.size() - unnamed,
                                           same.size(), object, end.is_success() ? "it stopped early" : end.error));
  }
  return symbolised;
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
