// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/progress_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "harness/base/bytes.hpp"
#include "harness/base/text.hpp"

namespace stepleak {
namespace {

constexpr std::size_t kSparks = 12;
constexpr std::array<std::string_view, 8> kHeights{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

// Of UTF-8: what begins a character, counted as one column each.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

std::string first_columns(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end) {
    if ((text[end] & 0xC0) != 0x80 && ++seen > columns) break;
  }
  return std::string(text.substr(0, end));
}

// The whole run in a few characters, each the largest value of its part, between the smallest and the largest of all.
std::string spark_line(const std::vector<std::int64_t>& values) {
  const auto count = std::min(values.size(), kSparks);
  std::vector<double> tops;
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(i * values.size() / count);
    const auto end = values.begin() + static_cast<std::ptrdiff_t>((i + 1) * values.size() / count);
    tops.push_back(static_cast<double>(*std::max_element(begin, end)));
  }
  if (tops.empty()) return {};
  const auto [low, high] = std::minmax_element(tops.begin(), tops.end());
  const double range = *high - *low;
  std::string line;
  for (const auto top : tops) {
    const auto height = range > 0 ? (top - *low) / range * static_cast<double>(kHeights.size() - 1) : 0.0;
    line += kHeights.at(static_cast<std::size_t>(height + 0.5));
  }
  return line;
}

std::string rate_text(double steps_per_second) {
  if (steps_per_second >= 10) return fmt::format("{:.0f} steps/s", steps_per_second);
  if (steps_per_second >= 0.1) return fmt::format("{:.1f} steps/s", steps_per_second);
  return fmt::format("{:.0f} s/step", 1 / steps_per_second);
}

std::string joined(const std::vector<std::string>& parts) {
  std::string line;
  for (const auto& part : parts) {
    if (!part.empty()) line += (line.empty() ? "" : " · ") + part;
  }
  return line;
}

}  // namespace

void add_live_bytes(const Trace& trace, RunState& state) {
  for (const auto device : trace.devices()) {
    auto bytes = trace.series({Counter::live_bytes, device, Moment::after_collection});
    if (bytes.empty() || (device != kHost && bytes.back() <= 0)) continue;
    state.device = device;
    state.live_bytes = std::move(bytes);
    if (device != kHost) return;
  }
}

std::string awaited(const RunState& state, const Policy& policy) {
  if (state.step == 0) return "awaiting the first step";
  if (state.is_recorded) return "growing: recording who keeps it";
  if (state.step <= policy.clean_steps) return fmt::format("awaiting step {} for clean", policy.clean_steps);
  // What moves still is a leak, or fills.
  if (state.step <= policy.leak_steps) return fmt::format("moving: awaiting step {} for a leak", policy.leak_steps);
  auto last = policy.budget_steps;
  while (last < state.step) last *= 2;  // it goes on (Session::extend)
  return fmt::format("moving: awaiting step {}, the last", last);
}

std::string progress_line(const RunState& state, const Policy& policy, std::size_t columns, bool draws) {
  const auto done = state.total > 1 ? fmt::format("{} of {} done", state.ended, state.total) : std::string();
  const auto step = state.step > 0 ? fmt::format("step {}", state.step) : std::string();
  auto rate = state.step > 0 && state.steps_per_second > 0 ? rate_text(state.steps_per_second) : std::string();
  auto spark = draws ? spark_line(state.live_bytes) : std::string();
  const auto bytes = state.live_bytes.empty() ? std::string()
                                              : fmt::format("{} {}", to_string(state.device),
                                                            format_bytes(static_cast<double>(state.live_bytes.back())));
  const auto name = printable_line(state.name);
  auto waits = awaited(state, policy);
  const auto line = [&] {
    return joined({done, name, step, rate, bytes + (bytes.empty() || spark.empty() ? "" : " ") + spark, waits});
  };
  for (auto* part : {&spark, &rate, &waits}) {
    if (columns_of(line()) > columns) part->clear();
  }
  return first_columns(line(), columns);
}

}  // namespace stepleak
