// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "harness/cli/progress_line.hpp"
#include "harness/observe/flight_recorder.hpp"

namespace stepleak {

/// How a run says on standard error how far it is.
enum class ProgressStyle : std::uint8_t {
  never,
  line,   ///< one line, written over and over: of a terminal
  plain,  ///< a line every ten seconds, which stays: of a log
};

/// "line", "plain", "never", or "auto": a line on a terminal that can go back in it, plain ones elsewhere and in CI
/// (the variable CI).
[[nodiscard]] ProgressStyle progress_style(const std::string& choice);

/// What --progress takes.
inline constexpr const char* kProgressHelp = "how far it is, on standard error: auto, line, plain or never";

/// Says how far a run is. What it reads costs it no more than a fiftieth of the time.
class Progress {
 public:
  Progress(std::size_t total, const Policy& policy, ProgressStyle style);
  /// Often; says something when it is due.
  void show(std::size_t ended, const std::string& running, const FlightRecorder& recorder);
  /// Before something else is printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] RunState state_of(std::size_t ended, const std::string& running, const FlightRecorder& recorder);
  void measure_rate(const RunState& state, Clock::time_point now);

  std::size_t total_;
  Policy policy_;
  ProgressStyle style_;
  Clock::time_point due_;
  std::size_t shown_columns_ = 0;
  // The rate is measured from an earlier line of the same target on.
  std::string measured_;
  std::int64_t measured_step_ = 0;
  Clock::time_point measured_at_;
  double steps_per_second_ = 0;
};

}  // namespace stepleak
