// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "harness/trace/survivor.hpp"

namespace stepleak {

/// C++ frames by return address, and what could not be named.
struct SymbolisedAddresses {
  std::unordered_map<const void*, std::vector<Frame>> frames;
  std::vector<std::string> notes;  ///< "addr2line named 0 of 9 places of /home/me/train: it does not start: ..."
};

/// C++ frames of return addresses, inlined functions expanded, innermost first: by `addr2line -i` of binutils
/// over each object that is neither torch's nor the system's (torch's own symbolisers leave out the callers
/// that a function was inlined into). Without debug information an address has no frame; where addr2line is missing
/// or fails, a note says so.
[[nodiscard]] SymbolisedAddresses symbolise_addresses(const std::vector<const void*>& addresses);

/// A function's qualified name without its parameters, its return type and anonymous namespaces, of what a demangler
/// gives: "Trainer<float>::step<int>" of "void (anonymous namespace)::Trainer<float>::step<int>(int) const".
[[nodiscard]] std::string function_name(std::string demangled);

/// Lines of source files, each file read once.
class SourceLines {
 public:
  /// The line without leading and trailing blanks; empty where it cannot be read.
  [[nodiscard]] std::string line_of(const std::string& file, int line);

 private:
  std::unordered_map<std::string, std::vector<std::string>> files_;
};

}  // namespace stepleak
