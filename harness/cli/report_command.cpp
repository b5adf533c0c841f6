// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "harness/base/errors.hpp"
#include "harness/base/files.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/reporting.hpp"
#include "harness/report/outputs.hpp"
#include "harness/trace/serialise.hpp"

namespace stepleak {
namespace {

struct ReportCommand {
  ReportOptions reports;
  std::vector<std::string> files;

  void read(const std::string& file, std::vector<Result>& results) const {
    auto stored = results_from_json(read_file(file), file);
    if (stored.results.empty()) throw failure_error(fmt::format("{} has no results", file), "see what was to write it");
    for (auto& result : stored.results) {
      print_result(result, reports);
      results.push_back(std::move(result));
    }
    if (stored.error) throw Error(*stored.error);
  }

  ExitCode operator()() const {
    auto files_read = files;
    files_read.push_back(reports.known_file);
    check_outputs(output_files(reports), files_read);
    std::vector<Result> results;
    auto code = ExitCode::clean;
    for (const auto& file : files) {
      // One that has no results costs no other's.
      if (!is_done([&] { read(file, results); })) code = ExitCode::failure;
    }
    if (results.empty()) return code;
    return worst_of(code, report_results(results, "stepleak report", reports));
  }
};

}  // namespace

void add_report_command(CLI::App& app, Command& chosen) {
  auto* verb = app.add_subcommand("report", "Show results that were stored as JSON, as text, as a page or as JUnit");
  auto command = std::make_shared<ReportCommand>();
  verb->add_option("result", command->files, "files that --json of run, watch or analyze wrote")->required();
  add_report_options(*verb, command->reports);
  verb->footer(
      "The page is one file without network; several results make a table that opens each.\n"
      "Example: stepleak report results/*.json --html suite.html");
  verb->callback([&chosen, command] { chosen = *command; });
}

}  // namespace stepleak
