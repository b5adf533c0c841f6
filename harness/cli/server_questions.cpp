// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/cli/server_questions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <sstream>

#include "harness/base/errors.hpp"
#include "harness/cli/litter.hpp"
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

std::string answer_of_worker(const Question& question) {
  Litter litter;
  const WorkerTask task{.name = question.about,
                        .body =
                            [&](FlightRecorder&) {
                              observing().start_in_worker([&](std::string_view left) { litter.add(left); });
                              return question.answer();
                            },
                        .farewell = [] { observing().end_in_worker(); }};
  WorkerEnd ended;
  {
    const StopSignals signals;
    run_workers({task}, 1, signals, {.on_end = [&](std::size_t, const WorkerEnd& end) { ended = end; }});
  }
  litter.remove();
  if (ended.is_finished) return ended.payload;
  throw failure_error(fmt::format("no worker can tell {}: {}\n{}", question.about, ended.what, ended.output_tail),
                      question.remedy);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

ScenarioList scenarios_for_server(const std::string& folder) {
  if (!starts_in_workers()) return observing().scenarios(folder);
  return scenario_list_from_json(answer_of_worker({.about = "the scenarios of " + folder,
                                                   .answer = [&] { return to_json(observing().scenarios(folder)); },
                                                   .remedy = "run its files with python3"}));
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
