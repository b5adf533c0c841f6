// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/reporting.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "harness/base/files.hpp"
#include "harness/report/console.hpp"
#include "harness/report/junit.hpp"
#include "harness/trace/serialise.hpp"

namespace stepleak {
namespace {

int rank_of(ExitCode code) {
  static constexpr ExitCode kOrder[] = {ExitCode::clean, ExitCode::inconclusive, ExitCode::leak, ExitCode::failure};
  return static_cast<int>(std::find(std::begin(kOrder), std::end(kOrder), code) - std::begin(kOrder));
}

// One result is written as it is; several as a list.
std::string json_of(const std::vector<Result>& results) {
  if (results.size() == 1) return to_json(results.front());
  std::string text = "[\n";
  for (std::size_t i = 0; i < results.size(); ++i) text += (i > 0 ? ",\n" : "") + to_json(results[i]);
  return text + "]\n";
}

std::string failure_of(const Result& result, bool is_strict) {
  if (result.verdict != Verdict::clean) return summary_of(result);
  return is_strict && !result.notes.empty() ? result.notes.front() : "";
}

ExitCode code_of(const Result& result, bool is_strict) {
  const auto code = exit_code(result.verdict);
  return code == ExitCode::clean && is_strict && !result.notes.empty() ? ExitCode::leak : code;
}

}  // namespace

void add_report_options(CLI::App& verb, ReportOptions& options) {
  verb.add_option("--json", options.json_file, "write the whole result here");
  verb.add_option("--junit", options.junit_file, "write a JUnit file here");
  verb.add_flag("--strict", options.is_strict, "notes fail too");
  verb.add_option("--colour", options.colours, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
}

void print_result(const Result& result, const ReportOptions& options) {
  fmt::print("{}", to_console(result, {use_colours(options.colours), options.json_file}));
  std::fflush(stdout);
}

ExitCode report_results(const std::vector<Result>& results, const std::string& suite, const ReportOptions& options) {
  if (!options.json_file.empty()) write_file(options.json_file, json_of(results));
  if (!options.junit_file.empty()) {
    std::vector<JunitCase> cases;
    for (const auto& result : results) cases.push_back({&result, failure_of(result, options.is_strict)});
    write_file(options.junit_file, to_junit(suite, cases));
  }
  auto worst = ExitCode::clean;
  for (const auto& result : results) {
    const auto code = code_of(result, options.is_strict);
    if (rank_of(code) > rank_of(worst)) worst = code;
  }
  return worst;
}

bool use_colours(const std::string& choice) {
  if (choice == "always") return true;
  return choice == "auto" && ::isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
}

}  // namespace stepleak
