// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <optional>

#include "harness/cli/commands.hpp"
#include "harness/cli/known_leaks.hpp"
#include "harness/cli/observing.hpp"
#include "harness/cli/progress.hpp"
#include "harness/cli/reporting.hpp"
#include "harness/cli/settings.hpp"
#include "harness/cli/target.hpp"
#include "harness/report/outputs.hpp"
#include "harness/trace/trace_file.hpp"

namespace stepleak {
namespace {

bool is_name(const std::string& text) {
  return !text.empty() && text.find(".py") == std::string::npos && text.find_first_of(":/") == std::string::npos;
}

Target target_of(const std::string& text) {
  if (text.find(".py") == std::string::npos) {
    throw usage_error(fmt::format("'{}' is neither a Python file nor a scenario's name", text),
                      "write FILE.py:callable, or a name that stepleak list shows");
  }
  const auto colon = text.find(':');
  if (colon == std::string::npos || text.ends_with(':')) {
    throw usage_error(fmt::format("{} names no callable", text), fmt::format("write {}:step", text.substr(0, colon)));
  }
  return file_target(text);
}

struct RunCommand {
  RunOptions options;
  ReportOptions reports;
  std::vector<std::string> targets;
  std::string scenario_folder;

  // One that is named wrongly fails in its place; where all are, it throws.
  [[nodiscard]] std::vector<Target> resolved(Device device) const {
    std::vector<Target> resolved;
    std::vector<Error> wrong;
    const auto take = [&](const std::string& text, const auto& targets_of) {
      try {
        for (auto& target : targets_of()) resolved.push_back(std::move(target));
      } catch (const Error& error) {
        wrong.push_back(error);
        resolved.push_back({text, [error](const Options&, FlightRecorder&) -> RunRecord { throw error; }});
      }
    };
    std::vector<std::string> names;
    for (const auto& text : targets) {
      if (is_name(text)) {
        names.push_back(text);
      } else {
        take(text, [&] { return std::vector{target_of(text)}; });
      }
    }
    std::optional<Suite> suite;
    for (const auto& name : names) {
      take(name, [&] {
        if (!suite) suite = Suite::of_folder(scenario_folder_of(scenario_folder), options);
        std::vector<Target> found;
        for (const auto& scenario : suite->matching(name, device)) found.push_back(suite->to_target(scenario));
        for (const auto& scenario : suite->left_out(name, device)) {
          if (!scenario.missing.empty()) tell(fmt::format("left out: {} {}", scenario.name, lack_of(scenario)));
        }
        return found;
      });
    }
    if (wrong.size() == resolved.size()) throw Error(wrong.front());
    if (suite) std::ranges::move(suite->broken_targets(), std::back_inserter(resolved));
    return resolved;
  }

  [[nodiscard]] std::vector<std::string> judged_files() const {
    std::vector<std::string> files{reports.known_file};
    for (const auto& text : targets) files.push_back(text.substr(0, text.rfind(':')));
    return files;
  }

  ExitCode operator()() const {
    check_known(reports.known_file);
    check_outputs(output_files(reports), judged_files());
    const auto run_options = with_device(options);
    const auto to_run = resolved(parse_device(run_options.options.device));
    const auto ends = run_targets(to_run, run_options, [&](const Result& result) { print_result(result, reports); });
    auto code = ends.is_wrong_use ? ExitCode::wrong_use : ExitCode::clean;
    code = worst_of(code, report_results(ends.results, "stepleak run", reports));
    const auto& trace = reports.trace_file;
    if (!trace.empty() && !is_done([&] { write_trace_file(trace, ends.records); })) {
      code = worst_of(code, ExitCode::failure);
    }
    return code;
  }
};

// What no machine of today has; beyond it the system refuses threads in ways that look like a crash.
constexpr int kMostThreads = 4096;

// "nan" is neither below nor above a bound.
CLI::Validator finite() {
  return {[](const std::string& text) {
            return std::isfinite(std::strtod(text.c_str(), nullptr)) ? std::string() : text + " is no number";
          },
          "", "finite"};
}

}  // namespace

void add_judging_options(CLI::App& verb, Options& options) {
  verb.add_option("--device", options.device, "auto, cpu, cuda or cuda:N")->capture_default_str();
  verb.add_option("--effort", options.effort, "clean after 16, 64 or 512 steps at least")
      ->check(CLI::IsMember({"quick", "standard", "nightly"}))
      ->capture_default_str();
  const auto steps = CLI::Range(std::int64_t{0}, kMostSteps);
  verb.add_option("--steps", options.steps, "the most steps to judge; 0: the effort's budget")
      ->check(steps)
      ->capture_default_str();
  verb.add_option("--min-steps", options.minimum_steps, "no verdict before these; 0: the effort's minimum")
      ->check(steps)
      ->capture_default_str();
  verb.add_option("--period", options.period, "steps after which yours repeats; 0: found")
      ->check(steps)
      ->capture_default_str();
  verb.add_option("--budget", options.budget_seconds, "the most seconds to run steps; 0: unlimited")
      ->check(CLI::Range(0.0, 1e9) & finite())
      ->capture_default_str();
}

void add_bisect_option(CLI::App& verb) {
  verb.add_flag(kBisect)->description("for git bisect run: exit with 125, skip, where there is no verdict");
}

void add_progress_option(CLI::App& verb, std::string& choice) {
  verb.add_option("--progress", choice, kProgressHelp)
      ->check(CLI::IsMember({"auto", "line", "plain", "never"}))
      ->capture_default_str();
}

void add_run_options(CLI::App& verb, RunOptions& options) {
  add_judging_options(verb, options.options);
  const auto seconds = CLI::Range(0.0, 1e9) & finite();
  const auto threads = CLI::Range(0, kMostThreads);
  verb.add_option("--seed", options.options.seed, "of torch, Python and NumPy")
      // CLI11 takes what no integer holds for the largest one.
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 63U))
      ->capture_default_str();
  verb.add_option("--threads", options.options.threads, "torch's intra-op threads; 0: torch's default")
      ->check(threads)
      ->capture_default_str();
  verb.add_option("--timeout", options.timeout_seconds, "seconds for each worker; 0: none")
      ->check(seconds)
      ->capture_default_str();
  verb.add_option("--memory", options.memory,
                  "private host memory that a worker may take, such as 8G; none by default");
  verb.add_option("--jobs,-j", options.jobs, "workers at once; 0: one a core")->check(threads)->capture_default_str();
  verb.add_flag("--show-output", options.show_output, "let through what the step prints");
  add_progress_option(verb, options.progress);
  add_bisect_option(verb);
}

void add_run_command(CLI::App& app, Command& chosen) {
  auto* verb = app.add_subcommand("run", "Judge a callable of your own file, or scenarios by name");
  auto command = std::make_shared<RunCommand>();
  command->options.tries_fixes = true;
  verb->add_option("target", command->targets, "FILE.py:callable, or a scenario's name or glob")->required();
  add_run_options(*verb, command->options);
  add_report_options(*verb, command->reports);
  add_output_option(*verb, "--trace", command->reports.trace_file,
                    "keep what the result rests on here, for stepleak analyze");
  verb->add_option("--scenarios", command->scenario_folder, kScenarioFolderHelp);
  verb->add_flag("!--no-trial", command->options.tries_fixes,
                 "run no more steps after a leak to try the statement that the report advises");
  verb->footer(
      "The file's top level is the set-up; the callable takes nothing, or the step index.\n"
      "Example: stepleak run train.py:step --json result.json --html result.html");
  verb->callback([&chosen, command] { chosen = *command; });
}

}  // namespace stepleak
