// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>

#include "harness/sources/cpp_container.hpp"

namespace stepleak {

/// The functions of a step.
struct CppStep {
  std::set<CppBlockAt> roots;    ///< that run it: of the user's those that nothing of the user's calls
  std::set<CppBlockAt> reached;  ///< that it may run, its roots among them

  /// Whether a token stands in one of them, or in a lambda in one.
  [[nodiscard]] bool contains(const TokenAt& at) const;
  /// Whether it is a lambda in a function of a file.
  [[nodiscard]] bool is_in(const CppFile& file, int callable) const;
};

/// The functions that may run where some others do: those whose names stand in them, and so on. A method counts where
/// it may be of the object that it is called on (CppNames::may_call). What a library calls back is not known.
[[nodiscard]] std::set<CppBlockAt> reached_from(const std::set<CppBlockAt>& callables, const CppNames& names);

}  // namespace stepleak
