// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/cli/target.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <thread>

#include "harness/api/policy_of.hpp"
#include "harness/api/result_of.hpp"
#include "harness/base/bytes.hpp"
#include "harness/base/errors.hpp"
#include "harness/cli/declared_scenarios.hpp"
#include "harness/cli/layout.hpp"
#include "harness/cli/litter.hpp"
#include "harness/cli/no_memory.hpp"
#include "harness/cli/observing.hpp"
#include "harness/cli/progress.hpp"
#include "harness/cli/reporting.hpp"
#include "harness/cli/server_questions.hpp"
#include "harness/cli/server_start.hpp"
#include "harness/trace/run_record_json.hpp"

namespace stepleak {
namespace {

using Clock = std::chrono::steady_clock;

Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
}

constexpr const char* kRunTheFile = "run the file with python3";

// What a worker sends back: a result, or an error that the server throws again.
constexpr char kResultTag = 'R';
constexpr char kErrorTag = 'E';
constexpr char kSeparator = '\x1f';

std::string payload_of(const Target& target, const RunOptions& run, FlightRecorder& recorder, Litter& litter) {
  auto options = run.options;
  if (run.timeout_seconds > 0) options.ends_at = Clock::now() + seconds(run.timeout_seconds);
  observing().start_in_worker([&litter](std::string_view folder) { litter.add(folder); });
  options.target = target.name;
  try {
    return kResultTag + to_json(target.record(options, recorder));
  } catch (const Error& error) {
    return fmt::format("{}{}{}{}{}{}", kErrorTag, static_cast<int>(error.code()), kSeparator, error.what(), kSeparator,
                       error.remedy());
  }
}

// A leak's record with what came of the statements that its findings advise; empty where none could be tried.
std::string with_trials(const std::string& payload, const RunOptions& run) {
  if (payload.front() != kResultTag) return {};
  auto record = run_record_from_json(std::string_view(payload).substr(1), "what the worker sends back");
  record.trials = observing().try_fixes(record, run.options);
  return record.trials.empty() ? std::string() : kResultTag + to_json(record);
}

RunRecord failed(const Target& target, const RunOptions& options, const std::string& reason, const Error& error) {
  return {.target = target.name,
          .device = parse_device(options.options.device),
          .failure = RunFailure{.reason = reason, .what = error.what(), .remedy = error.remedy()}};
}

// As payload_of() wrote it.
Error error_from(const std::string& payload) {
  const auto first = payload.find(kSeparator);
  const auto second = payload.find(kSeparator, first + 1);
  return {static_cast<ExitCode>(std::stoi(payload.substr(1, first - 1))), payload.substr(first + 1, second - first - 1),
          payload.substr(second + 1)};
}

RunRecord record_of(const Target& target, const RunOptions& options, WorkerEnd end, bool& is_wrong_use) try {
  const NoMemoryEnd guard;
  if (end.is_finished && !end.payload.empty() && end.payload.front() == kResultTag) {
    auto record = run_record_from_json(std::string_view(end.payload).substr(1), "what the worker sent back");
    if (record.failure) record.failure->output_tail = end.output_tail;
    return record;
  }
  if (end.is_finished) {
    const auto error = error_from(end.payload);
    is_wrong_use = error.code() == ExitCode::wrong_use;
    auto record = failed(target, options, is_wrong_use ? "it was named wrongly" : "the harness failed", error);
    record.failure->output_tail = end.output_tail;
    return record;
  }
  return {.target = target.name,
          .device = parse_device(options.options.device),
          .policy = end.policy,
          .trace = std::move(end.trace),
          .failure = RunFailure{.reason = end.is_interrupted ? "the run was interrupted" : "the worker died",
                                .what = end.what,
                                .remedy = end.remedy,
                                .output_tail = end.output_tail},
          .is_interrupted = end.is_interrupted,
          .seconds = end.seconds};
} catch (const std::exception& error) {
  return failed(target, options, "its worker sent back what cannot be read", as_error(error));
}

Result judged(const Target& target, const RunOptions& options, const RunRecord& record) try {
  return result_of(record);
} catch (const std::exception& error) {
  return result_of(failed(target, options, "it could not be judged", as_error(error)));
}

bool is_runnable(const Scenario& scenario, Device device) {
  return scenario.missing.empty() && (!scenario.needs_cuda || device.type == DeviceType::cuda);
}

[[noreturn]] void throw_none_runs(const std::string& glob, const std::vector<Scenario>& left_out) {
  const auto lacking = std::ranges::find_if(left_out, [](const auto& scenario) { return !scenario.missing.empty(); });
  if (lacking != left_out.end()) {
    throw failure_error(fmt::format("'{}' {}", glob, lack_of(*lacking)),
                        fmt::format("{} -m pip install the package that has it", layout().python));
  }
  const auto cuda = gpus_for_server();
  throw failure_error(fmt::format("'{}' needs a GPU{}", glob, cuda.reason.empty() ? "" : ": " + cuda.reason),
                      cuda.remedy.empty() ? "run it with --device cuda" : cuda.remedy);
}

}  // namespace

std::string lack_of(const Scenario& scenario) {
  return scenario.missing.empty() ? "needs a GPU" : fmt::format("needs {}, which is not installed", scenario.missing);
}

Suite Suite::of_folder(const std::string& folder, const RunOptions& options) {
  return {scenarios_for_server(folder, options.timeout_seconds), folder};
}

Suite Suite::declared_in(const std::string& folder) {
  return {declared_scenarios(folder, RunOptions().timeout_seconds), folder};
}

Suite::Suite(ScenarioList list, std::string folder)
    : scenarios_(std::move(list.scenarios)), broken_(std::move(list.broken)), folder_(std::move(folder)) {
  std::sort(scenarios_.begin(), scenarios_.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  const auto twice = std::adjacent_find(scenarios_.begin(), scenarios_.end(),
                                        [](const auto& a, const auto& b) { return a.name == b.name; });
  if (twice == scenarios_.end()) return;
  throw failure_error(
      fmt::format("scenario '{}' is declared twice: {} and {}", twice->name, twice->file, std::next(twice)->file),
      "rename one of them");
}

std::vector<Scenario> Suite::named(const std::string& glob) const {
  std::vector<Scenario> named;
  const auto is_named = [&](const auto& scenario) { return ::fnmatch(glob.c_str(), scenario.name.c_str(), 0) == 0; };
  std::ranges::copy_if(scenarios_, std::back_inserter(named), is_named);
  if (named.empty() && !broken_.empty()) {
    throw failure_error(fmt::format("no scenario matches '{}', and {} does not load: {}", glob, broken_.front().file,
                                    broken_.front().what),
                        kRunTheFile);
  }
  if (named.empty()) throw usage_error(fmt::format("no scenario matches '{}'", glob), "stepleak list shows all names");
  return named;
}

std::vector<Scenario> Suite::matching(const std::string& glob, Device device) const {
  auto matching = named(glob);
  std::erase_if(matching, [&](const auto& scenario) { return !is_runnable(scenario, device); });
  if (matching.empty()) throw_none_runs(glob, left_out(glob, device));
  return matching;
}

std::vector<Scenario> Suite::left_out(const std::string& glob, Device device) const {
  auto left_out = named(glob);
  std::erase_if(left_out, [&](const auto& scenario) { return is_runnable(scenario, device); });
  return left_out;
}

Target Suite::to_target(const Scenario& scenario) const {
  return {scenario.name, [name = scenario.name, folder = folder_, left_out = files_of(broken_)](
                             const Options& options, FlightRecorder& recorder) {
            if (starts_in_workers()) (void)observing().scenarios(folder, {.left_out = left_out});
            // How far an undecided run goes on is a matter of the machine's speed, and a baseline is of any.
            auto limited = options;
            if (limited.steps == 0) limited.steps = policy_of(options).budget_steps;
            return observing().record_scenario(name, limited, recorder);
          }};
}

std::vector<Target> Suite::broken_targets() const {
  std::vector<Target> targets;
  for (const auto& [file, what, output_tail] : broken_) {
    const auto name = std::filesystem::path(file).lexically_proximate(std::filesystem::current_path()).string();
    targets.push_back({name, [name, what, output_tail](const Options& options, FlightRecorder&) {
                         print_aside(output_tail);  // as if it were loaded here
                         return RunRecord{
                             .target = name,
                             .device = parse_device(options.device),
                             .failure = RunFailure{.reason = "it does not load, and what it declares is not known",
                                                   .what = what,
                                                   .remedy = kRunTheFile}};
                       }});
  }
  return targets;
}

RunOptions with_device(RunOptions options) {
  // Here, and not once in each worker.
  check_steps(options.options);
  if (!options.memory.empty()) (void)parse_bytes(options.memory);
  options.options.device = to_string(device_for_server(options.options.device));
  return options;
}

Target file_target(const std::string& text) {
  const auto colon = text.rfind(':');
  const auto file = text.substr(0, colon);
  const auto callable = text.substr(colon + 1);
  std::error_code unusable;  // a name too long, a loop of links
  if (!std::filesystem::is_regular_file(file, unusable)) {
    throw usage_error(fmt::format("there is no file {}", file),
                      "name it as FILE.py:callable, from the folder you are in");
  }
  const auto path = std::filesystem::absolute(file);
  return {text, [path, callable](const Options& options, FlightRecorder& recorder) {
            return observing().record_file(path, callable, options, recorder);
          }};
}

TargetEnds run_targets(const std::vector<Target>& targets, const RunOptions& options,
                       const std::function<void(const Result&)>& on_result) {
  start_server();
  const WorkerLimits limits{options.timeout_seconds, options.memory.empty() ? 0 : parse_bytes(options.memory)};
  std::vector<WorkerTask> tasks;
  std::vector<Litter> litter(targets.size());
  std::function<std::string(const std::string&)> amend;
  if (options.tries_fixes) amend = [&options](const std::string& payload) { return with_trials(payload, options); };
  for (std::size_t i = 0; i < targets.size(); ++i) {
    tasks.push_back({.name = targets[i].name,
                     .body = [&target = targets[i], &options, &left = litter[i]](
                                 FlightRecorder& recorder) { return payload_of(target, options, recorder, left); },
                     .limits = limits,
                     .show_output = options.show_output,
                     .amend = amend,
                     .farewell = [] { observing().end_in_worker(); }});
  }
  // Made before anything runs: what has ended needs no more memory to be kept.
  TargetEnds ends{.records = std::vector<RunRecord>(targets.size()), .results = std::vector<Result>(targets.size())};
  Progress progress(targets.size(), policy_of(options.options), progress_style(options.progress));
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  // To the end of the process: what they come to is written after this.
  static const StopSignals signals;
  run_workers(
      tasks, options.jobs > 0 ? options.jobs : cores, signals,
      {.on_end =
           [&](std::size_t task, const WorkerEnd& end) {
             progress.clear();
             litter[task].remove();
             bool is_wrong_use = false;
             auto& record = ends.records[task];
             auto& result = ends.results[task];
             record = record_of(targets[task], options, end, is_wrong_use);
             result = judged(targets[task], options, record);
             if (is_wrong_use) {
               ends.is_wrong_use = true;
               tell(record.failure->what, record.failure->remedy);
             } else if (on_result) {
               print_whole([&] { on_result(result); });
             }
           },
       .on_progress = [&](std::size_t ended, std::size_t task,
                          const FlightRecorder& recorder) { progress.show(ended, targets[task].name, recorder); }});
  progress.clear();
  if (stopping_signal() != 0) {
    const auto ended = std::count_if(ends.records.begin(), ends.records.end(), [](const RunRecord& record) {
      return !record.target.empty() && !record.is_interrupted;
    });
    tell(fmt::format("stopped by SIG{}: {} of {} targets had ended", ::sigabbrev_np(stopping_signal()), ended,
                     targets.size()));
  }
  // A target that a signal kept from its turn.
  std::erase_if(ends.records, [](const RunRecord& record) { return record.target.empty(); });
  std::erase_if(ends.results, [](const Result& result) { return result.target.empty(); });
  return ends;
}

}  // namespace stepleak
