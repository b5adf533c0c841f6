// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "harness/api/result_of.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/reporting.hpp"
#include "harness/trace/trace_file.hpp"

namespace stepleak {
namespace {

struct AnalyzeCommand {
  ReportOptions reports;
  std::vector<std::string> files;

  ExitCode operator()() const {
    std::vector<Result> results;
    for (const auto& file : files) {
      for (const auto& record : read_trace_file(file)) {
        results.push_back(result_of(record));
        print_result(results.back(), reports);
      }
    }
    return report_results(results, "stepleak analyze", reports);
  }
};

}  // namespace

void add_analyze_command(CLI::App& app, Command& chosen) {
  auto* verb = app.add_subcommand("analyze", "Judge stored traces anew: no step runs, no GPU and no torch is needed");
  auto command = std::make_shared<AnalyzeCommand>();
  verb->add_option("trace", command->files, "files that stepleak run --trace wrote")->required();
  add_report_options(*verb, command->reports);
  verb->footer(
      "The same trace gives the same verdict and findings on any machine.\n"
      "Example: stepleak run train.py:step --trace train.trace; stepleak analyze train.trace --json result.json");
  verb->callback([&chosen, command] { chosen = *command; });
}

}  // namespace stepleak
