// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/cli/server_questions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <iterator>
#include <sstream>

#include "harness/base/errors.hpp"
#include "harness/cli/litter.hpp"
#include "harness/cli/loading_mark.hpp"
#include "harness/cli/server_start.hpp"
#include "harness/drive/stop_signals.hpp"
#include "harness/drive/worker.hpp"

namespace stepleak {
namespace {

constexpr const char* kAskNvidia = "see what nvidia-smi says, or use --device cpu";

struct Question {
  std::string about;
  std::function<std::string()> answer;
  std::string remedy;  ///< where it gives none
};

WorkerEnd end_of_worker(WorkerTask task, const std::function<std::string()>& answer) {
  Litter litter;
  task.body = [&](FlightRecorder&) {
    observing().start_in_worker([&](std::string_view left) { litter.add(left); });
    return answer();
  };
  task.farewell = [] { observing().end_in_worker(); };
  WorkerEnd ended;
  {
    const StopSignals signals;
    run_workers({task}, 1, signals, {.on_end = [&](std::size_t, const WorkerEnd& end) { ended = end; }});
  }
  litter.remove();
  return ended;
}

[[noreturn]] void throw_unanswered(const std::string& about, const WorkerEnd& ended, const std::string& remedy) {
  throw failure_error(fmt::format("no worker can tell {}: {}\n{}", about, ended.what, ended.output_tail), remedy);
}

std::string answer_of_worker(const Question& question) {
  const auto ended = end_of_worker({.name = question.about}, question.answer);
  if (!ended.is_finished) throw_unanswered(question.about, ended, question.remedy);
  return ended.payload;
}

// As a worker loads them: all at once, and again without the file that ended the last one.
ScenarioList tried_scenarios(const std::string& folder, double timeout_seconds) {
  const auto about = "the scenarios of " + folder;
  std::vector<BrokenFile> ending;
  for (;;) {
    LoadingMark mark;
    const ScenarioLoading loading{.left_out = files_of(ending),
                                  .on_file = [&mark](std::string_view file) { mark.set(file); }};
    const auto ended = end_of_worker(
        {.name = about, .limits = {.timeout_seconds = timeout_seconds}, .last_part = [&mark] { return mark.since(); }},
        [&] { return to_json(observing().scenarios(folder, loading)); });
    if (ended.is_finished) {
      auto list = scenario_list_from_json(ended.payload);
      std::ranges::move(ending, std::back_inserter(list.broken));
      return list;
    }
    const auto file = mark.file();
    if (ended.is_interrupted) throw failure_error(fmt::format("{} of {}", ended.what, file.empty() ? folder : file));
    if (file.empty()) throw_unanswered(about, ended, "run its files with python3");
    ending.push_back({.file = file, .what = ended.what, .output_tail = ended.output_tail});
  }
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

ScenarioList scenarios_for_server(const std::string& folder, double timeout_seconds) {
  start_server();
  auto tried = tried_scenarios(folder, timeout_seconds);
  if (starts_in_workers()) return tried;
  // Once more for all workers, which would have to load them each: what a file imports may take seconds.
  auto list = observing().scenarios(folder, {.left_out = files_of(tried.broken)});
  std::ranges::move(tried.broken, std::back_inserter(list.broken));
  return list;
}

Device device_for_server(const std::string& name) {
  if (!starts_in_workers()) return observing().device_before_fork(name);
  if (name == to_string(kHost)) return kHost;
  return parse_device(answer_of_worker({.about = "the device " + name,
                                        .answer = [&] { return to_string(observing().device_before_fork(name)); },
                                        .remedy = kAskNvidia}));
}

GpuAnswer gpus_for_server() {
  if (!starts_in_workers()) return observing().gpus_before_fork();
  const auto ask = [] {
    const auto gpus = observing().gpus_before_fork();
    return fmt::format("{}\n{}\n{}", gpus.reason, gpus.remedy, fmt::join(gpus.names, "\n"));
  };
  auto lines = lines_of(answer_of_worker({.about = "the GPUs", .answer = ask, .remedy = kAskNvidia}));
  return {.names = {lines.begin() + 2, lines.end()}, .reason = lines[0], .remedy = lines[1]};
}

std::vector<std::string> self_growth_for_server() {
  const auto ask = [] {
    observing().start();
    return fmt::format("{}", fmt::join(observing().self_growth_steps(), "\n"));
  };
  return lines_of(starts_in_workers() ? answer_of_worker({"the steps of stepleak's own", ask}) : ask());
}

}  // namespace stepleak
