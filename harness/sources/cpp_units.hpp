// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace stepleak {

/// Which of a project's files may be parts of one translation unit, by their `#include` lines: what a file declares is
/// known where it is included, so that a `Trainer` of one test is another one than that of the next.
///
/// An include is any file of that name whose path ends as it says, since the folders that a build searches are not
/// known; of a path that no file has, any of that name. Where a macro or a module says what is included it may be all.
class CppUnits {
 public:
  CppUnits() = default;
  /// `includes`: of each file, as includes_of() has them.
  explicit CppUnits(const std::map<std::string, std::vector<std::string_view>>& includes);
  /// Of an unknown file: true.
  [[nodiscard]] bool may_share(const std::string& one, const std::string& other) const;
  /// A known file and all that include it, and so on.
  [[nodiscard]] const std::set<std::string>& includers_of(const std::string& path) const;
  /// Whether a macro or a module says what a file includes.
  [[nodiscard]] bool may_include_any(const std::string& path) const { return unknown_.contains(path); }

 private:
  std::set<std::string> unknown_;  // files that may include any
  std::map<std::string, std::vector<std::string>> included_by_;
  mutable std::map<std::string, std::set<std::string>> includers_;  // of what was asked
};

}  // namespace stepleak
