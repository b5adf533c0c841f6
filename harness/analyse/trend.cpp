// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/analyse/trend.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

namespace stepleak {
namespace {

using Values = std::span<const std::int64_t>;

// A cache that fills ever more slowly: 1/t or exponential decay falls below this within four windows.
constexpr double kSteadiest = 0.4;
constexpr std::int64_t kWindows = 4;
constexpr std::int64_t kRepeats = 3;

// The smallest p with d[i] == d[i + p] throughout, d being the differences; 0 where none repeats three times.
std::int64_t exact_period(Values values) {
  std::vector<std::int64_t> differences(values.size());
  std::adjacent_difference(values.begin(), values.end(), differences.begin());
  const Values d(differences.data() + 1, differences.size() - 1);
  const auto count = static_cast<std::int64_t>(d.size());
  for (std::int64_t p = 1; p * kRepeats <= count; ++p) {
    if (std::equal(d.begin(), d.end() - p, d.begin() + p)) return p;
  }
  return 0;
}

// From this step on the ledger never again came down to where it was before.
std::int64_t since_step_of(Values values) {
  std::vector<std::int64_t> lowest_later(values.begin(), values.end());
  for (auto i = lowest_later.size() - 1; i-- > 0;) lowest_later[i] = std::min(lowest_later[i], lowest_later[i + 1]);
  for (std::size_t i = 1; i < lowest_later.size(); ++i) {
    if (lowest_later[i] > lowest_later[i - 1]) return static_cast<std::int64_t>(i) + 1;
  }
  return 0;
}

struct Windows {
  std::array<std::int64_t, kWindows> lowest{};
  std::array<std::int64_t, kWindows> highest{};
};

Windows windows_of(Values values, std::int64_t window) {
  Windows result;
  // Counted from the end: what does not fill a window belongs to the warm-up.
  const auto begin = static_cast<std::int64_t>(values.size()) - kWindows * window;
  for (std::int64_t w = 0; w < kWindows; ++w) {
    const auto part = values.subspan(static_cast<std::size_t>(begin + w * window), static_cast<std::size_t>(window));
    const auto [low, high] = std::minmax_element(part.begin(), part.end());
    result.lowest[static_cast<std::size_t>(w)] = *low;
    result.highest[static_cast<std::size_t>(w)] = *high;
  }
  return result;
}

TrendState state_of(const Windows& windows, double floor_per_window, bool is_exact) {
  std::array<double, kWindows - 1> rises{};
  for (std::size_t w = 0; w < rises.size(); ++w) {
    rises[w] = static_cast<double>(windows.lowest[w + 1] - windows.lowest[w]);
  }
  const auto [smallest, largest] = std::minmax_element(rises.begin(), rises.end());
  const bool is_steady = *smallest > floor_per_window && *smallest >= kSteadiest * *largest;
  // An exact ledger of random sizes has rising minima once in 24 looks by chance; a leak lifts the maxima too.
  const bool is_lifted = std::adjacent_find(windows.highest.begin(), windows.highest.end(), std::greater_equal<>()) ==
                         windows.highest.end();
  if (is_steady && (is_lifted || !is_exact)) return TrendState::growing;
  if (!is_exact) return std::max(rises[1], rises[2]) <= floor_per_window ? TrendState::flat : TrendState::undecided;
  const auto earlier_high = std::max({windows.highest[0], windows.highest[1], windows.highest[2]});
  return *largest <= 0 && windows.highest[3] <= earlier_high ? TrendState::flat : TrendState::undecided;
}

}  // namespace

Trend trend_of(Values values, const TrendOptions& options) {
  Trend trend;
  const auto count = static_cast<std::int64_t>(values.size());
  const auto period = std::max<std::int64_t>(options.period, 1);
  if (count < std::max(kShortestSeries, 3 * period)) return trend;
  const auto settled = values.subspan(static_cast<std::size_t>(count / 4));
  trend.window = static_cast<std::int64_t>(settled.size()) / kWindows / period * period;
  if (options.is_exact) trend.period = exact_period(settled);
  if (trend.period > 0) {
    const auto rise = settled.back() - settled[settled.size() - 1 - static_cast<std::size_t>(trend.period)];
    trend.per_step = static_cast<double>(rise) / static_cast<double>(trend.period);
    trend.state = rise > 0 ? TrendState::growing : TrendState::flat;
    trend.window = std::max(trend.window, trend.period);
  } else if (trend.window == 0) {
    trend.state = TrendState::undecided;
  } else {
    const auto windows = windows_of(settled, trend.window);
    trend.per_step =
        static_cast<double>(windows.lowest[3] - windows.lowest[0]) / static_cast<double>((kWindows - 1) * trend.window);
    trend.state = state_of(windows, options.floor * static_cast<double>(trend.window), options.is_exact);
  }
  if (trend.is_growing()) trend.since_step = since_step_of(values);
  return trend;
}

}  // namespace stepleak
