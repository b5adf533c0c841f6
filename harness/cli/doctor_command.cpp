// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <gnu/libc-version.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "harness/cli/commands.hpp"
#include "harness/cli/embedded_python.hpp"
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
  say("threads before a fork", fmt::format("{}{}", threads, threads == 1 ? "" : "  (must be 1: set OMP_NUM_THREADS=1)"));
  if (threads != 1) code = ExitCode::failure;
  fmt::print("observed here\n");
  say("cpu tensors", "yes: every allocation through torch's CPU allocator, exact");
  say("autograd nodes, tensors", "yes: what operators return, exact");
  say("python objects", "yes: what the collector tracks, exact");
  say("host heap, RSS", "yes: noisy; judged above 512 B/step");
  const bool has_gpu = std::filesystem::exists("/dev/nvidiactl");
  say("device memory", has_gpu ? "no: this version watches CPU memory only" : "no: there is no NVIDIA driver here");
  return code;
}

}  // namespace

void add_doctor_command(CLI::App& app, Command& chosen) {
  auto* verb = app.add_subcommand("doctor", "Say what can be observed here and what not, with the remedy");
  verb->footer("Example: stepleak doctor");
  verb->callback([&chosen] { chosen = doctor; });
}

}  // namespace stepleak
