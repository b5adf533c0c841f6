// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <gnu/libc-version.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "harness/base/subprocess.hpp"
#include "harness/base/text.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/layout.hpp"
#include "harness/cli/observing.hpp"
#include "harness/cli/reporting.hpp"
#include "harness/cli/server_questions.hpp"
#include "harness/cli/target.hpp"
#include "harness/drive/server_threads.hpp"
#include "harness/report/console.hpp"

namespace stepleak {
namespace {

// Two copies of libtorch in one process crash in ways that look like our bug.
std::set<std::string> mapped_libraries(const std::string& name) {
  std::set<std::string> found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto slash = line.find('/');
    if (slash != std::string::npos && line.ends_with("/" + name)) found.insert(line.substr(slash));
  }
  return found;
}

void print_hanging(const std::string& before, const std::string& text) {
  print_text(hanging_text(before, printable_line(text), columns_of_terminal(STDOUT_FILENO)));
}

void say(const std::string& what, const std::string& value) { print_hanging(fmt::format("  {:<26} ", what), value); }

void say_remedy(const std::string& remedy) { print_hanging("    remedy: ", remedy); }

// What of the surroundings stands in the way; harness/python/stepleak/_faults.py tells it without torch.
void print_faults() {
  const auto asked = run_program({layout().python, (layout().package_folder / "stepleak/_faults.py").string()});
  const auto faults = nlohmann::json::parse(asked.is_success() ? asked.output : "", nullptr, false);
  if (!faults.is_array()) {
    say("surroundings", fmt::format("not known: {}: {}", layout().python, asked.error));
    say_remedy(asked.remedy.empty() ? repair_of_python(layout(), layout().python) : asked.remedy);
    return;
  }
  if (faults.empty()) return;
  print_text("in the way\n");
  for (const auto& fault : faults) {
    print_hanging("  ", fault.at(0).get<std::string>());
    say_remedy(fault.at(1).get<std::string>());
  }
}

ExitCode doctor() {
  auto code = ExitCode::clean;
  print_text(fmt::format("stepleak {}\n", STEPLEAK_VERSION));
  // First: it is what may keep torch from being imported.
  print_faults();
  observing().start();
  for (const auto& [name, value] : observing().facts()) say(name, value);
  const auto libraries = mapped_libraries("libtorch_cpu.so");
  if (libraries.size() > 1) {
    code = ExitCode::failure;
    for (const auto& library : libraries) say("libtorch twice", library);
    say_remedy("build what links the other one against the torch folder above; stepleak itself: " + layout().repair);
  }
  const auto threads = thread_names().size();
  say("threads before a fork",
      fmt::format("{}{}", threads, threads == 1 ? "" : "  (each worker starts Python anew, which takes longer)"));
  print_text("observed here\n");
  say("cpu tensors", "yes: every allocation through torch's CPU allocator, exact");
  say("autograd nodes, tensors", "yes: what operators return, exact");
  say("python objects", "yes: what the collector tracks, exact");
  const auto heap = observing().host_heap();
  say("host heap", heap);
  if (heap.starts_with("no")) {
    say_remedy("run without it in LD_PRELOAD; until then growth of Python objects or RSS is inconclusive");
  }
  say("RSS", "yes: noisy; a witness where the host heap is not seen");
  // Last: it starts CUDA, and nothing is forked afterwards.
  const auto cuda = observing().gpus();
  if (cuda.names.empty()) {
    say("device memory", fmt::format("no: {}", cuda.reason));
    say_remedy(cuda.remedy);
    return code;
  }
  print_text("GPU\n");
  for (const auto& [name, value] : observing().gpu_facts()) say(name, value);
  return code;
}

// Prints how much each ledger rose over the last three quarters; whether an exact one did.
bool print_growth(const Result& result) {
  bool has_grown = false;
  for (const auto& ledger : result.trace.ledgers()) {
    const auto& key = ledger.key();
    const auto values = result.trace.series(key);
    if (values.empty()) continue;
    const auto rise = values.back() - values[values.size() / 4];
    say(to_string(key), fmt::format("{:+d} in all, {:+.4f} a step", rise,
                                    static_cast<double>(rise) / static_cast<double>(values.size() * 3 / 4)));
    has_grown = has_grown || (is_exact(key.counter) && rise > 0);
  }
  return has_grown;
}

// Steps that keep nothing, under the whole harness: every ledger that rises is our own growth.
ExitCode self_growth(std::int64_t steps) {
  RunOptions options;
  options.options.minimum_steps = steps;
  options.timeout_seconds = 0;  // as long as it takes
  std::vector<Target> targets;
  for (const auto& name : self_growth_for_server()) {
    targets.push_back({name, [name](const Options& given, FlightRecorder& recorder) {
                         return observing().record_self_growth(name, given, recorder);
                       }});
  }
  std::set<ExitCode> codes;
  for (const auto& result : run_targets(targets, with_device(options), {}).results) {
    print_text(fmt::format("{}: own growth over {} steps, from step {} on: {}\n", result.target, result.steps,
                           result.steps / 4, to_string(result.verdict)));
    if (result.failure) say(result.reason, result.failure->what);
    codes.insert(print_growth(result) ? ExitCode::leak : exit_code(result.verdict));
  }
  for (const auto code : {ExitCode::failure, ExitCode::leak, ExitCode::inconclusive}) {
    if (codes.contains(code)) return code;
  }
  return ExitCode::clean;
}

}  // namespace

void add_doctor_command(CLI::App& app, Command& chosen) {
  auto* verb = app.add_subcommand("doctor", "Say what can be observed here and what not, with the remedy");
  auto steps = std::make_shared<std::int64_t>(0);
  verb->add_option("--self-growth", *steps, "measure what stepleak itself keeps over so many steps; exit 1 if any")
      ->check(CLI::Range(std::int64_t{1}, kMostSteps));
  verb->footer("Example: stepleak doctor --self-growth 10000");
  verb->callback([&chosen, steps] { chosen = [steps] { return *steps > 0 ? self_growth(*steps) : doctor(); }; });
}

}  // namespace stepleak
