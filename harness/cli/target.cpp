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

#include "harness/api/result_of.hpp"
#include "harness/base/bytes.hpp"
#include "harness/base/errors.hpp"
#include "harness/base/source_root.hpp"
#include "harness/cli/observing.hpp"
#include "harness/cli/progress.hpp"
#include "harness/trace/run_record_json.hpp"

namespace stepleak {
namespace {

// What a worker sends back: a result, or an error that the server throws again.
constexpr char kResultTag = 'R';
constexpr char kErrorTag = 'E';
constexpr char kSeparator = '\x1f';

std::string payload_of(const Target& target, Options options, FlightRecorder& recorder) {
  observing().after_fork();
  options.target = target.name;
  try {
    return kResultTag + to_json(target.record(options, recorder));
  } catch (const Error& error) {
    return fmt::format("{}{}{}{}{}{}", kErrorTag, static_cast<int>(error.code()), kSeparator, error.what(), kSeparator,
                       error.remedy());
  }
}

RunRecord record_of(const Target& target, const RunOptions& options, WorkerEnd end) {
  if (end.is_finished && end.payload.front() == kResultTag) {
    auto record = run_record_from_json(std::string_view(end.payload).substr(1), "what the worker sent back");
    if (record.failure) record.failure->output_tail = end.output_tail;
    return record;
  }
  if (end.is_finished) {
    const auto first = end.payload.find(kSeparator);
    const auto second = end.payload.find(kSeparator, first + 1);
    throw Error(static_cast<ExitCode>(std::stoi(end.payload.substr(1, first - 1))),
                end.payload.substr(first + 1, second - first - 1), end.payload.substr(second + 1));
  }
  return {.target = target.name,
          .device = parse_device(options.options.device),
          .policy = end.policy,
          .trace = std::move(end.trace),
          .failure =
              RunFailure{
                  .reason = "the worker died", .what = end.what, .remedy = end.remedy, .output_tail = end.output_tail},
          .seconds = end.seconds};
}

}  // namespace

Suite::Suite(std::vector<Scenario> scenarios) : scenarios_(std::move(scenarios)) {
  std::sort(scenarios_.begin(), scenarios_.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  const auto twice = std::adjacent_find(scenarios_.begin(), scenarios_.end(),
                                        [](const auto& a, const auto& b) { return a.name == b.name; });
  if (twice == scenarios_.end()) return;
  throw failure_error(
      fmt::format("scenario '{}' is declared twice: {} and {}", twice->name, twice->file, std::next(twice)->file),
      "rename one of them");
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
    const auto cuda = observing().gpus_before_fork();
    throw failure_error(fmt::format("'{}' needs a GPU{}", glob, cuda.reason.empty() ? "" : ": " + cuda.reason),
                        cuda.remedy.empty() ? "run it with --device cuda" : cuda.remedy);
  }
  if (matching.empty())
    throw usage_error(fmt::format("no scenario matches '{}'", glob), "stepleak list shows all names");
  return matching;
}

Target Suite::to_target(const Scenario& scenario) {
  return {scenario.name, [name = scenario.name](const Options& options, FlightRecorder& recorder) {
            return observing().record_scenario(name, options, recorder);
          }};
}

RunOptions with_device(RunOptions options) {
  options.options.device = to_string(observing().device_before_fork(options.options.device));
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
            return observing().record_file(path, callable, options, recorder);
          }};
}

std::vector<RunRecord> run_targets(const std::vector<Target>& targets, const RunOptions& options,
                                   const std::function<void(const Result&)>& on_result) {
  observing().start();
  const WorkerLimits limits{options.timeout_seconds, options.memory.empty() ? 0 : parse_bytes(options.memory)};
  std::vector<WorkerTask> tasks;
  for (const auto& target : targets) {
    tasks.push_back(
        {target.name,
         [&target, &options](FlightRecorder& recorder) { return payload_of(target, options.options, recorder); },
         limits, options.show_output});
  }
  std::vector<RunRecord> records(targets.size());
  Progress progress(targets.size(), ::isatty(STDERR_FILENO) != 0);
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  run_workers(tasks, options.jobs > 0 ? options.jobs : cores,
              {.on_end =
                   [&](std::size_t task, const WorkerEnd& end) {
                     progress.clear();
                     records[task] = record_of(targets[task], options, end);
                     if (on_result) on_result(result_of(records[task]));
                   },
               .on_progress = [&](std::size_t ended, std::size_t task,
                                  std::int64_t step) { progress.show(ended, targets[task].name, step); }});
  progress.clear();
  return records;
}

std::string default_scenario_folder() { return STEPLEAK_SOURCE_ROOT "/scenarios/python"; }
std::string default_baseline_folder() { return STEPLEAK_SOURCE_ROOT "/baselines"; }

}  // namespace stepleak
