// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <vector>

#include "harness/sources/cpp_container.hpp"

namespace stepleak {

/// The functions of a step.
struct CppStep {
  std::set<CppBlockAt> roots;  ///< that run it: of the user's those that nothing of the user's calls
  /// Of a root with the loop over the steps in it (has_loop_of_steps()): that loop. What stands beside it comes before
  /// the first step or behind the last one.
  std::map<CppBlockAt, TokenRange> loops;
  std::set<CppBlockAt> reached;  ///< that it may run, its roots among them
  /// Of what it may run through variables (called_back()): the last tokens of what is called there.
  std::map<CppBlockAt, std::vector<TokenAt>> called_at;

  /// Whether a token stands in one of them, or in a lambda in one.
  [[nodiscard]] bool contains(const TokenAt& at) const;
  /// Whether it is a lambda in a function of a file.
  [[nodiscard]] bool is_in(const CppFile& file, int callable) const;
};

/// Whether a function loops over steps by itself, and says so to stepleak::Watch: its variables outlive the steps.
/// Without the namespace that is told by its name and by "watch.step()".
[[nodiscard]] bool has_loop_of_steps(const CppBlockAt& callable);

/// The outermost loop of a function around a token, an index of its file's blocks; -1: none.
[[nodiscard]] int outermost_loop(const TokenAt& at, int callable);

/// The step that some functions run, `callables`, with all that may run where these do: functions whose names stand in
/// them, and what variables that are called may hold (called_back()), and so on; and what the project's threads run
/// beside them (run_by_threads()). A method counts where it may be of the
/// object that it is called on (CppNames::may_call). What a library calls back is not known. `roots`: with the lines in
/// them that run it.
[[nodiscard]] CppStep step_from(const std::map<CppBlockAt, std::set<int>>& roots, const std::set<CppBlockAt>& callables,
                                const CppNames& names);

}  // namespace stepleak
