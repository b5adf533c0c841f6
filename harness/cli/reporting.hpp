// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/base/errors.hpp"
#include "harness/trace/result.hpp"

namespace CLI {
class App;
}

namespace stepleak {

/// What every verb that ends in results does with them.
struct ReportOptions {
  std::string json_file;
  std::string junit_file;
  std::string colours = "auto";
  bool is_strict = false;
};

/// --json, --junit, --strict and --colour.
void add_report_options(CLI::App& verb, ReportOptions& options);

/// Prints one result as a person reads it.
void print_result(const Result& result, const ReportOptions& options);

/// Writes the files, and gives the exit code of the worst: a failure hides behind no leak, a leak behind no doubt.
[[nodiscard]] ExitCode report_results(const std::vector<Result>& results, const std::string& suite,
                                      const ReportOptions& options);

/// Whether to colour standard output: "always", "never", or "auto" for a terminal without NO_COLOR.
[[nodiscard]] bool use_colours(const std::string& choice);

}  // namespace stepleak
