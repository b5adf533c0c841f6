// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/cli/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace stepleak {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBetweenLines{250};
constexpr milliseconds kBetweenPlainLines{10'000};
constexpr int kShareOfTime = 50;

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Which of a terminal's characters there are is said by the locale alone.
bool has_utf8() {
  for (const auto* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const auto value = variable(name);
    if (value.empty()) continue;
    return value.find("UTF-8") != std::string_view::npos || value.find("utf8") != std::string_view::npos;
  }
  return false;
}

std::size_t terminal_columns() {
  constexpr std::size_t kUsual = 80;
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsual;
  return size.ws_col;
}

}  // namespace

ProgressStyle progress_style(const std::string& choice) {
  if (choice == "never") return ProgressStyle::never;
  if (choice == "plain") return ProgressStyle::plain;
  if (choice == "line") return ProgressStyle::line;
  const auto ci = variable("CI");
  const auto terminal = variable("TERM");
  const bool is_log = !ci.empty() && ci != "0" && ci != "false";
  const bool goes_back = ::isatty(STDERR_FILENO) != 0 && !terminal.empty() && terminal != "dumb";
  return goes_back && !is_log ? ProgressStyle::line : ProgressStyle::plain;
}

Progress::Progress(std::size_t total, const Policy& policy, ProgressStyle style)
    : total_(total),
      policy_(policy),
      style_(style),
      due_(Clock::now() + (style == ProgressStyle::plain ? kBetweenPlainLines : milliseconds(0))) {}

void Progress::show(std::size_t ended, const std::string& running, const FlightRecorder& recorder) {
  const auto now = Clock::now();
  if (style_ == ProgressStyle::never || now < due_) return;
  const auto state = state_of(ended, running, recorder);
  if (style_ == ProgressStyle::plain) {
    constexpr std::size_t kAll = 1000;
    std::fprintf(stderr, "stepleak: %s\n", progress_line(state, policy_, kAll, false).c_str());
  } else {
    // Written over without escape sequences, which not every terminal wants (NO_COLOR). The last column stays free:
    // some terminals begin a new line there.
    const auto columns = terminal_columns() - 1;
    const auto line = progress_line(state, policy_, columns, has_utf8());
    std::fprintf(stderr, "\r%*s\r%s", static_cast<int>(std::min(shown_columns_, columns)), "", line.c_str());
    shown_columns_ = columns;
  }
  std::fflush(stderr);
  const auto pause = style_ == ProgressStyle::plain ? kBetweenPlainLines : kBetweenLines;
  due_ = now + std::max<Clock::duration>(pause, (Clock::now() - now) * kShareOfTime);
}

void Progress::clear() {
  if (shown_columns_ == 0) return;
  const auto columns = std::min(shown_columns_, terminal_columns() - 1);
  std::fprintf(stderr, "\r%*s\r", static_cast<int>(columns), "");
  std::fflush(stderr);
  shown_columns_ = 0;
}

RunState Progress::state_of(std::size_t ended, const std::string& running, const FlightRecorder& recorder) {
  RunState state{.ended = ended, .total = total_, .name = running, .step = recorder.step()};
  if (state.step > 0) {
    const auto trace = recorder.to_trace();
    state.is_recorded = !trace.looks().empty();
    add_live_bytes(trace, state);
  }
  measure_rate(state, Clock::now());
  state.steps_per_second = steps_per_second_;
  return state;
}

void Progress::measure_rate(const RunState& state, Clock::time_point now) {
  const bool is_another = measured_ != state.name || state.step < measured_step_;
  const double seconds = std::chrono::duration<double>(now - measured_at_).count();
  if (is_another || measured_step_ == 0) {
    steps_per_second_ = 0;
  } else if (state.step > measured_step_) {
    steps_per_second_ = static_cast<double>(state.step - measured_step_) / seconds;
  } else {
    return;  // a step that lasts: its rate is known when it ends
  }
  measured_ = state.name;
  measured_step_ = state.step;
  measured_at_ = now;
}

}  // namespace stepleak
