// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/base/files.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/reporting.hpp"
#include "harness/trace/serialise.hpp"

namespace stepleak {
namespace {

// A file has one result, or a list of them.
std::vector<Result> results_of(const std::string& file) {
  const auto text = read_file(file);
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) {
    throw usage_error(fmt::format("{} is no JSON", file), "name a file that --json of run, watch or analyze wrote");
  }
  if (!json.is_array()) return {result_from_json(text)};
  std::vector<Result> results;
  for (const auto& each : json) results.push_back(result_from_json(each.dump()));
  return results;
}

struct ReportCommand {
  ReportOptions reports;
  std::vector<std::string> files;

  ExitCode operator()() const {
    check_outputs(output_files(reports), files);
    std::vector<Result> results;
    for (const auto& file : files) {
      for (auto& result : results_of(file)) {
        print_result(result, reports);
        results.push_back(std::move(result));
      }
    }
    return report_results(results, "stepleak report", reports);
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
      "Ages and survivors are in traces only: stepleak analyze T --html F shows them.\n"
      "Example: stepleak report results/*.json --html suite.html");
  verb->callback([&chosen, command] { chosen = *command; });
}

}  // namespace stepleak
