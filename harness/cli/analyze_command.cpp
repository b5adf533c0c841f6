// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <stdexcept>

#include "harness/api/result_of.hpp"
#include "harness/base/errors.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/reporting.hpp"
#include "harness/report/outputs.hpp"
#include "harness/trace/trace_file.hpp"

namespace stepleak {
namespace {

struct AnalyzeCommand {
  ReportOptions reports;
  std::vector<std::string> files;

  static Result judged(const RunRecord& record, const std::string& file) try {
    return result_of(record);
  } catch (const std::out_of_range& error) {
    throw failure_error(fmt::format("{} contradicts itself: {}", file, error.what()),
                        "write it again: stepleak run ... --trace FILE");
  }

  // Whether all of a file's runs were judged.
  [[nodiscard]] bool judge(const std::string& file, std::vector<Result>& results) const {
    const auto runs = read_trace_file(file);
    bool are_all = !runs.error;
    for (const auto& record : runs.records) {
      const auto take = [&] {
        results.push_back(judged(record, file));
        print_result(results.back(), reports);
      };
      are_all = is_done(take) && are_all;
    }
    if (runs.error) tell(*runs.error);
    return are_all;
  }

  ExitCode operator()() const {
    auto files_read = files;
    files_read.push_back(reports.known_file);
    check_outputs(output_files(reports), files_read);
    std::vector<Result> results;
    auto code = ExitCode::clean;
    for (const auto& file : files) {
      // One that is no trace costs no other's result.
      bool are_all = false;
      if (!is_done([&] { are_all = judge(file, results); }) || !are_all) code = ExitCode::failure;
    }
    if (results.empty()) return code;
    return worst_of(code, report_results(results, "stepleak analyze", reports));
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
