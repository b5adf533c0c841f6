// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <gnu/libc-version.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "harness/cli/commands.hpp"
#include "harness/cli/embedded_python.hpp"
#include "harness/cli/target.hpp"
#include "harness/probes/cuda/cuda_devices.hpp"
#include "harness/probes/cuda/cuda_watch.hpp"
#include "harness/probes/torch/torch_conditions.hpp"
#include "harness/runner/worker.hpp"

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

void say(const std::string& what, const std::string& value) { fmt::print("  {:<26} {}\n", what, value); }

ExitCode doctor() {
  auto code = ExitCode::clean;
  fmt::print("stepleak {}\n", STEPLEAK_VERSION);
  EmbeddedPython::start();
  for (const auto& [name, value] : EmbeddedPython::facts()) say(name, value);
  for (const auto& [name, value] : torch_conditions()) say(name, value);
  const auto libraries = mapped_libraries("libtorch_cpu.so");
  if (libraries.size() > 1) {
    code = ExitCode::failure;
    for (const auto& library : libraries) say("libtorch twice", library);
    fmt::print("    remedy: build against the torch of the interpreter: ci/build\n");
  }
  const int threads = thread_count();
  say("threads before a fork",
      fmt::format("{}{}", threads, threads == 1 ? "" : "  (must be 1: set OMP_NUM_THREADS=1)"));
  if (threads != 1) code = ExitCode::failure;
  fmt::print("observed here\n");
  say("cpu tensors", "yes: every allocation through torch's CPU allocator, exact");
  say("autograd nodes, tensors", "yes: what operators return, exact");
  say("python objects", "yes: what the collector tracks, exact");
  say("host heap, RSS", "yes: noisy; judged above 512 B/step");
  // Last: it starts CUDA, and nothing is forked afterwards.
  const auto cuda = ask_cuda();
  if (cuda.names.empty()) {
    say("device memory", fmt::format("no: {}", cuda.reason));
    fmt::print("    remedy: {}\n", cuda.remedy);
    return code;
  }
  fmt::print("GPU\n");
  for (const auto& [name, value] : cuda_facts()) say(name, value);
  return code;
}

// A step that does nothing under the whole harness: every ledger that rises is our own growth.
ExitCode self_growth(std::int64_t steps) {
  RunOptions options;
  options.options.minimum_steps = steps;
  const Target nothing{"a step that does nothing", [](const Options& given, FlightRecorder& recorder) {
                         return EmbeddedPython::check_nothing(given, recorder);
                       }};
  const auto result = run_targets({nothing}, with_device(options), {}).front();
  const auto& trace = result.trace;
  fmt::print("own growth over {} steps, from step {} on: {}\n", result.steps, result.steps / 4,
             to_string(result.verdict));
  auto code = exit_code(result.verdict);
  for (const auto& key : trace.keys()) {
    const auto values = trace.series(key);
    const auto rise = values.back() - values[values.size() / 4];
    say(to_string(key), fmt::format("{:+d} in all, {:+.4f} a step", rise,
                                    static_cast<double>(rise) / static_cast<double>(result.steps * 3 / 4)));
    if (is_exact(key.counter) && rise > 0) code = ExitCode::leak;
  }
  return code;
}

}  // namespace

void add_doctor_command(CLI::App& app, Command& chosen) {
  auto* verb = app.add_subcommand("doctor", "Say what can be observed here and what not, with the remedy");
  auto steps = std::make_shared<std::int64_t>(0);
  verb->add_option("--self-growth", *steps, "measure what stepleak itself keeps over so many steps; exit 1 if any");
  verb->footer("Example: stepleak doctor --self-growth 10000");
  verb->callback([&chosen, steps] { chosen = [steps] { return *steps > 0 ? self_growth(*steps) : doctor(); }; });
}

}  // namespace stepleak
