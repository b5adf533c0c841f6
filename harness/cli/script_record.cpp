// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/script_record.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstring>
#include <string_view>

#include "harness/trace/run_record_json.hpp"

namespace stepleak {
namespace {

std::string place_of(const FlightRecorder& recorder) {
  return recorder.step() == 0 ? "before a step was found" : fmt::format("in step {}", recorder.step());
}

std::string name_of(int signal) {
  const auto* name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

bool is_wanted(int signal) { return signal == SIGINT || signal == SIGTERM || signal == SIGHUP; }

}  // namespace

ScriptMessages read_messages(const std::string& text) {
  ScriptMessages told;
  const auto end = text.rfind('\n');
  if (end == std::string::npos) return told;
  std::string_view rest(text.data(), end + 1);
  std::string_view last_record;
  for (; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1)) {
    const auto line = rest.substr(0, rest.find('\n'));
    if (line.empty()) continue;
    const auto body = line.substr(1);
    if (line.front() == 'R') last_record = body;
    if (line.front() == 'H') told.how = body;
    if (line.front() == 'W') told.why_none = body;
  }
  if (!last_record.empty()) told.record = run_record_from_json(last_record, "what the script's process told");
  return told;
}

RunRecord record_of_end(const FlightRecorder& recorder, const ScriptEnd& end) {
  RunRecord record{.policy = recorder.policy(), .trace = recorder.to_trace(), .seconds = end.seconds};
  if (end.signal != 0) {
    record.is_interrupted = is_wanted(end.signal);
    record.failure = RunFailure{.reason = record.is_interrupted ? "the script was interrupted" : "the script died",
                                .what = fmt::format("killed by {} {}", name_of(end.signal), place_of(recorder)),
                                .remedy = end.signal == SIGKILL
                                              ? "the kernel kills like this when memory runs out: see dmesg"
                                              : (record.is_interrupted ? "" : "run the script alone under a debugger")};
  } else if (recorder.step() > 0) {
    record.failure = RunFailure{
        .reason = "the script's process ended without Python's exit",
        .what = fmt::format("the process exited with code {} {}", end.exit_code, place_of(recorder)),
        .remedy = "os._exit() ends a process before it can be judged: return from the script, or use sys.exit()"};
  }
  return record;
}

}  // namespace stepleak
