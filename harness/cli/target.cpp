// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/cli/target.hpp"

#include <fmt/format.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "harness/base/bytes.hpp"
#include "harness/base/errors.hpp"
#include "harness/cli/embedded_python.hpp"
#include "harness/cli/progress.hpp"
#include "harness/probes/cuda/cuda_devices.hpp"
#include "harness/trace/serialise.hpp"

namespace stepleak {
namespace {

// What a worker sends back: a result, or an error that the server throws again.
constexpr char kResultTag = 'R';
constexpr char kErrorTag = 'E';
constexpr char kSeparator = '\x1f';

std::string payload_of(const Target& target, Options options, FlightRecorder& recorder) {
  EmbeddedPython::after_fork();
  options.target = target.name;
  try {
    return kResultTag + to_json(target.check(options, recorder));
  } catch (const Error& error) {
    return fmt::format("{}{}{}{}{}{}", kErrorTag, static_cast<int>(error.code()), kSeparator, error.what(), kSeparator,
                       error.remedy());
  }
}

Result result_of(const Target& target, const RunOptions& options, const WorkerEnd& end) {
  if (end.is_finished && end.payload.front() == kResultTag) {
    auto result = result_from_json(std::string_view(end.payload).substr(1));
    if (result.failure) result.failure->output_tail = end.output_tail;
    return result;
  }
  if (end.is_finished) {
    const auto first = end.payload.find(kSeparator);
    const auto second = end.payload.find(kSeparator, first + 1);
    throw Error(static_cast<ExitCode>(std::stoi(end.payload.substr(1, first - 1))),
                end.payload.substr(first + 1, second - first - 1), end.payload.substr(second + 1));
  }
  Result result;
  result.target = target.name;
  result.device = parse_device(options.options.device);
  result.verdict = Verdict::failure;
  result.reason = "the worker died";
  result.failure = RunFailure{end.what, end.remedy, end.output_tail};
  result.steps = end.trace.step_count();
  result.seconds = end.seconds;
  result.trace = end.trace;
  return result;
}

}  // namespace

Suite::Suite(const std::string& folder) : scenarios_(ScenarioRegistry::instance().all()) {
  EmbeddedPython::start();
  for (auto& scenario : EmbeddedPython::load_scenarios(folder)) {
    const auto other = std::find_if(scenarios_.begin(), scenarios_.end(),
                                    [&](const Scenario& known) { return known.name == scenario.name; });
    if (other != scenarios_.end()) {
      throw failure_error(
          fmt::format("scenario '{}' is declared twice: {} and {}", scenario.name, other->file, scenario.file),
          "rename one of them");
    }
    scenarios_.push_back(std::move(scenario));
  }
  std::sort(scenarios_.begin(), scenarios_.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
}

std::vector<Scenario> Suite::matching(const std::string& glob, Device device) const {
  std::vector<Scenario> matching;
  bool needs_gpu = false;
  for (const auto& scenario : scenarios_) {
    if (::fnmatch(glob.c_str(), scenario.name.c_str(), 0) != 0) continue;
    const bool is_runnable = !scenario.needs_cuda || device.type == DeviceType::cuda;
    needs_gpu = needs_gpu || !is_runnable;
    if (is_runnable) matching.push_back(scenario);
  }
  if (matching.empty() && needs_gpu) {
    const auto& cuda = ask_cuda_in_child();
    throw failure_error(fmt::format("'{}' needs a GPU{}", glob, cuda.reason.empty() ? "" : ": " + cuda.reason),
                        cuda.remedy.empty() ? "run it with --device cuda" : cuda.remedy);
  }
  if (matching.empty())
    throw usage_error(fmt::format("no scenario matches '{}'", glob), "stepleak list shows all names");
  return matching;
}

Target Suite::to_target(const Scenario& scenario) {
  if (!scenario.set_up) {
    return {scenario.name, [name = scenario.name](const Options& options, FlightRecorder& recorder) {
              return EmbeddedPython::check_scenario(name, options, recorder);
            }};
  }
  return {scenario.name, [set_up = scenario.set_up](const Options& options, FlightRecorder& recorder) {
            return EmbeddedPython::without_gil([&] {
              const auto step = set_up(device_of(options.device));
              return check([&step](std::int64_t) { step(); }, options, {.recorder = &recorder});
            });
          }};
}

RunOptions with_device(RunOptions options) {
  options.options.device = to_string(device_before_fork(options.options.device));
  return options;
}

Target file_target(const std::string& text) {
  const auto colon = text.rfind(':');
  const auto file = text.substr(0, colon);
  const auto callable = text.substr(colon + 1);
  if (!std::filesystem::is_regular_file(file)) {
    throw usage_error(fmt::format("there is no file {}", file),
                      "name it as FILE.py:callable, from the folder you are in");
  }
  const auto path = std::filesystem::absolute(file);
  return {text, [path, callable](const Options& options, FlightRecorder& recorder) {
            return EmbeddedPython::check_file(path, callable, options, recorder);
          }};
}

std::vector<Result> run_targets(const std::vector<Target>& targets, const RunOptions& options,
                                const std::function<void(const Result&)>& on_result) {
  EmbeddedPython::start();
  const WorkerLimits limits{options.timeout_seconds, options.memory.empty() ? 0 : parse_bytes(options.memory)};
  std::vector<WorkerTask> tasks;
  for (const auto& target : targets) {
    tasks.push_back(
        {target.name,
         [&target, &options](FlightRecorder& recorder) { return payload_of(target, options.options, recorder); },
         limits, options.show_output});
  }
  std::vector<Result> results(targets.size());
  Progress progress(targets.size(), ::isatty(STDERR_FILENO) != 0);
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  run_workers(tasks, options.jobs > 0 ? options.jobs : cores,
              {.on_end =
                   [&](std::size_t task, const WorkerEnd& end) {
                     progress.clear();
                     results[task] = result_of(targets[task], options, end);
                     if (on_result) on_result(results[task]);
                   },
               .on_progress = [&](std::size_t ended, std::size_t task,
                                  std::int64_t step) { progress.show(ended, targets[task].name, step); }});
  progress.clear();
  return results;
}

std::string default_scenario_folder() { return STEPLEAK_SOURCE_ROOT "/scenarios/python"; }
std::string default_baseline_folder() { return STEPLEAK_SOURCE_ROOT "/baselines"; }

bool use_colours(const std::string& choice) {
  if (choice == "always") return true;
  return choice == "auto" && ::isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
}

}  // namespace stepleak
