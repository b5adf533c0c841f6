// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

#include "harness/base/files.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/embedded_python.hpp"
#include "harness/cli/target.hpp"
#include "harness/report/console.hpp"
#include "harness/report/junit.hpp"
#include "harness/trace/serialise.hpp"

namespace stepleak {
namespace {

struct RunCommand {
  RunOptions options;
  std::vector<std::string> targets;
  std::string json_file;
  std::string junit_file;
  std::string scenario_folder = default_scenario_folder();
  bool is_strict = false;

  [[nodiscard]] std::vector<Target> resolved(Device device) const {
    std::vector<Target> resolved;
    std::vector<std::string> names;
    for (const auto& text : targets) {
      if (text.find(".py") != std::string::npos) {
        if (text.find(":") == std::string::npos) {
          throw usage_error(fmt::format("{} names no callable", text), fmt::format("write {}:step", text));
        }
        resolved.push_back(file_target(text));
      } else {
        names.push_back(text);
      }
    }
    if (names.empty()) return resolved;
    const Suite suite(scenario_folder);
    for (const auto& name : names) {
      for (const auto& scenario : suite.matching(name, device)) resolved.push_back(Suite::to_target(scenario));
    }
    return resolved;
  }

  [[nodiscard]] std::string failure_of(const Result& result) const {
    if (result.verdict != Verdict::clean) return summary_of(result);
    return is_strict && !result.notes.empty() ? result.notes.front() : "";
  }

  ExitCode operator()() const {
    const auto run_options = with_device(options);
    const auto to_run = resolved(parse_device(run_options.options.device));
    const ConsoleOptions console{use_colours(options.colours), json_file};
    const auto results = run_targets(to_run, run_options, [&](const Result& result) {
      fmt::print("{}", to_console(result, console));
      std::fflush(stdout);
    });
    if (!json_file.empty()) write_file(json_file, json_of(results));
    if (!junit_file.empty()) {
      std::vector<JunitCase> cases;
      for (const auto& result : results) cases.push_back({&result, failure_of(result)});
      write_file(junit_file, to_junit("stepleak run", cases));
    }
    // The worst of all: a failure hides behind no leak, a leak behind no doubt.
    auto worst = ExitCode::clean;
    for (const auto& result : results) {
      auto code = exit_code(result.verdict);
      if (code == ExitCode::clean && is_strict && !result.notes.empty()) code = ExitCode::leak;
      if (rank_of(code) > rank_of(worst)) worst = code;
    }
    return worst;
  }

  static int rank_of(ExitCode code) {
    static constexpr ExitCode kOrder[] = {ExitCode::clean, ExitCode::inconclusive, ExitCode::leak, ExitCode::failure};
    return static_cast<int>(std::find(std::begin(kOrder), std::end(kOrder), code) - std::begin(kOrder));
  }

  // One result is written as it is; several as a list.
  static std::string json_of(const std::vector<Result>& results) {
    if (results.size() == 1) return to_json(results.front());
    std::string text = "[\n";
    for (std::size_t i = 0; i < results.size(); ++i) text += (i > 0 ? ",\n" : "") + to_json(results[i]);
    return text + "]\n";
  }
};

}  // namespace

void add_run_options(CLI::App& verb, RunOptions& options) {
  verb.add_option("--device", options.options.device, "auto, cpu, cuda or cuda:N")->capture_default_str();
  verb.add_option("--effort", options.options.effort, "clean after 16, 64 or 512 steps at least")
      ->check(CLI::IsMember({"quick", "standard", "nightly"}))
      ->capture_default_str();
  verb.add_option("--steps", options.options.steps, "the most steps to judge; 0: the effort's budget")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb.add_option("--min-steps", options.options.minimum_steps, "no verdict before these; 0: the effort's minimum")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb.add_option("--period", options.options.period, "steps after which yours repeats; 0: found")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb.add_option("--seed", options.options.seed, "of torch, Python and NumPy")->capture_default_str();
  verb.add_option("--threads", options.options.threads, "torch's intra-op threads; 0: torch's default")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb.add_option("--timeout", options.timeout_seconds, "seconds for each worker; 0: none")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb.add_option("--memory", options.memory, "host memory that a worker may take, such as 8G; none by default");
  verb.add_option("--jobs,-j", options.jobs, "workers at once; 0: one a core")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb.add_flag("--show-output", options.show_output, "let through what the step prints");
  verb.add_option("--colour", options.colours, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
}

void add_run_command(CLI::App& app, Command& chosen) {
  auto* verb = app.add_subcommand("run", "Judge a callable of your own file, or scenarios by name");
  auto command = std::make_shared<RunCommand>();
  verb->add_option("target", command->targets, "FILE.py:callable, or a scenario's name or glob")->required();
  add_run_options(*verb, command->options);
  verb->add_option("--json", command->json_file, "write the whole result here");
  verb->add_option("--junit", command->junit_file, "write a JUnit file here");
  verb->add_option("--scenarios", command->scenario_folder, "folder of Python scenarios")->capture_default_str();
  verb->add_flag("--strict", command->is_strict, "notes fail too");
  verb->footer(
      "The file's top level is the set-up; the callable takes nothing, or the step index.\n"
      "Example: stepleak run train.py:step --json result.json");
  verb->callback([&chosen, command] { chosen = *command; });
}

}  // namespace stepleak
