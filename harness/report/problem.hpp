// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/report/report_case.hpp"

namespace stepleak {

/// What CI systems name files by, and where paths begin that begin nowhere.
struct SourceTree {
  std::filesystem::path root;            ///< absolute: of the repository
  std::filesystem::path working_folder;  ///< absolute
};

/// A line of a source file.
struct SourcePlace {
  std::string file;       ///< from the tree's root on where it lies below it, else absolute; any bytes
  bool is_below = false;  ///< it does: a CI system can show it
  int line = 1;
  std::string text;  ///< the source line; empty where it is not known
};

enum class Severity : std::uint8_t { warning, error };

/// One thing that a CI system shows at a line: a finding of a leak, or a result that fails the build otherwise.
struct Problem {
  const Result* result = nullptr;
  const Finding* finding = nullptr;  ///< none: the result as a whole
  Severity severity = Severity::error;
  std::string rule;                  ///< the finding's kind, or one of kRulesWithoutFinding
  std::string message;               ///< some lines, printable
  std::optional<SourcePlace> place;  ///< the line to change; none: no file of the user's is known
};

/// Rules of results without a finding. `unexpected`: a verdict that does not fail by itself, with a note under --strict
/// or a difference from its baseline.
inline constexpr const char* kRulesWithoutFinding[] = {"leak", "inconclusive", "failure", "unexpected"};

/// Of the cases that fail the build, in their order: one for each finding of a leak that is not let be, else one for
/// the case.
///
/// The place is the statement that keeps what leaks, else the innermost frame of the user's, else the file that the
/// target names, without its line. One below the tree goes before one outside.
[[nodiscard]] std::vector<Problem> problems_of(const std::vector<ReportCase>& cases, const SourceTree& tree);

/// A place as the tree names it; none for what is no file, such as "<string>".
[[nodiscard]] std::optional<SourcePlace> place_in(const SourceTree& tree, const std::string& file, int line,
                                                  const std::string& text = {});

}  // namespace stepleak
