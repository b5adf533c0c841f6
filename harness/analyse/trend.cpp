// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/analyse/trend.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <vector>

namespace stepleak {
namespace {

using Values = std::span<const std::int64_t>;

constexpr std::int64_t kWindows = 4;
constexpr std::int64_t kRepeats = 3;
constexpr std::size_t kPauses = 4;  // as long as which in one is none of them

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

// What fills stands still once it is full: for half of all steps, and four times as long as it ever paused before.
bool is_full(Values values) {
  std::size_t last_change = 0;
  std::size_t longest_pause = 1;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i] == values[i - 1]) continue;
    longest_pause = std::max(longest_pause, i - last_change);
    last_change = i;
  }
  const auto silence = values.size() - 1 - last_change;
  return 2 * silence >= values.size() && silence >= kPauses * longest_pause;
}

// A list that is emptied at each epoch's end: it rises, and falls by the better part of what it rose by, at once or
// over some readings. Where that was seen three times, what it falls to tells what windows shorter than its tooth do
// not.
bool has_level_troughs(Values values, double floor) {
  constexpr std::size_t kFewest = 3;
  constexpr std::int64_t kSmallest = 8;  // of a tooth: what falls by less in between is its noise
  const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
  const auto tooth = *highest - *lowest;
  std::vector<std::size_t> troughs;
  std::size_t bottom = 0;
  for (std::size_t i = 1, top = 0; i <= values.size(); ++i) {
    if (i < values.size() && values[i] <= values[i - 1]) {
      if (values[i] < values[i - 1]) bottom = i;
      continue;
    }
    const auto fall = values[top] - values[i - 1];
    if (2 * fall >= tooth && tooth > 0) {
      troughs.push_back(bottom);
    } else if (kSmallest * fall > tooth) {
      return false;
    }
    top = i;
  }
  if (troughs.size() < kFewest) return false;
  // Since the newest fall it must not have risen beyond what it fell from: it may no longer be emptied.
  const auto newest = values.begin() + static_cast<std::ptrdiff_t>(troughs.back());
  const auto beyond = *std::max_element(newest, values.end()) - *std::max_element(values.begin(), newest);
  if (kSmallest * beyond > tooth) return false;
  const auto rise = static_cast<double>(values[troughs.back()] - values[troughs.front()]);
  return rise <= floor * static_cast<double>(troughs.back() - troughs.front());
}

double rise_between(Values values, std::size_t from, std::size_t to) {
  return static_cast<double>(values[to] - values[from]);
}

// Where one buffer that makes room for a part of itself ahead has risen, as strings, streams, lists and vectors do, the
// newest first: as long as each stair is at most as high as the next one, and not by far lower, and little happens in
// between, but once: over a record pass it is taken to have gone on as before, which of stairs nobody knows.
std::vector<std::size_t> stairs_of(Values values) {
  constexpr double kLowest = 1.0 / 3;  // of the next one: a buffer doubles at most, and steps are counted in readings
  constexpr double kAlike = 1.1;
  constexpr double kNoise = 1.0 / 8;  // of a stair
  double height = 0;
  for (std::size_t i = 1; i < values.size(); ++i) height = std::max(height, rise_between(values, i - 1, i));
  std::vector<std::size_t> stairs;
  bool was_foreign = false;
  double foreign = 0;  // what rose so since the stair before
  auto after = values.size();
  for (auto i = values.size() - 1; i > 0 && height > 0; --i) {
    const auto rise = rise_between(values, i - 1, i);
    if (rise < (stairs.empty() ? height / kAlike : kLowest * height)) {
      if (std::abs(rise) <= kNoise * height) continue;
      if (was_foreign || stairs.empty()) break;
      was_foreign = true;
      foreign = rise;
      continue;
    }
    if (rise > kAlike * height || std::abs(rise_between(values, i, after - 1) - foreign) > kNoise * height) break;
    foreign = 0;
    stairs.push_back(i);
    height = rise;
    after = i;
  }
  return stairs;
}

struct Stairs {
  Trend trend;
  double newest = 0;  // its height
};

// Of such a buffer that stands still, and rises by ever more after ever more steps, at one rate in all. Too short
// where it is none, or where the next stair should have come by now: it may be full.
Stairs latest_stairs_of(Values values) {
  constexpr std::size_t kFewest = 3;
  constexpr std::size_t kProof = 5;
  // The newest than the first, at least, and as much later than the one before: what rises by as much each time is
  // none.
  constexpr double kHigher = 1.3;
  constexpr double kLate = 1.5;
  const auto stairs = stairs_of(values);
  if (stairs.size() < kFewest) return {};
  const auto height = [&](std::size_t stair) { return rise_between(values, stair - 1, stair); };
  const auto first = stairs.back();
  const auto newest = stairs.front();
  if (height(newest) < kHigher * height(first)) return {};
  const auto earliest = static_cast<double>(stairs[stairs.size() - 2] - first);
  if (static_cast<double>(newest - stairs[1]) < kHigher * earliest) return {};
  std::vector<double> rates;
  for (std::size_t i = 0; i + 1 < stairs.size(); ++i) {
    rates.push_back(height(stairs[i]) / static_cast<double>(stairs[i] - stairs[i + 1]));
  }
  const auto [slowest, fastest] = std::minmax_element(rates.begin(), rates.end());
  if (*slowest < kSlowestPart * *fastest) return {};
  const auto expected = height(newest) / height(stairs[1]) * static_cast<double>(newest - stairs[1]);
  if (static_cast<double>(values.size() - 1 - newest) > kLate * expected) return {};
  // What is asked for as a stair comes is what was there before it.
  return {{.state = stairs.size() < kProof ? TrendState::undecided : TrendState::growing,
           .per_step = rise_between(values, first - 1, newest - 1) / static_cast<double>(newest - first)},
          height(newest)};
}

// The same without what rose once and higher: state that is made late, or what a record pass made.
Stairs all_stairs_of(Values values) {
  constexpr int kMostTries = 4;
  std::vector<std::int64_t> rest(values.begin(), values.end());
  for (int i = 0; i < kMostTries && rest.size() > 1; ++i) {
    const auto found = latest_stairs_of(rest);
    if (found.trend.state != TrendState::too_short) return found;
    std::size_t highest = 1;
    for (std::size_t j = 2; j < rest.size(); ++j) {
      if (rise_between(rest, j - 1, j) >= rise_between(rest, highest - 1, highest)) highest = j;
    }
    const auto height = rest[highest] - rest[highest - 1];
    for (auto j = highest; j < rest.size(); ++j) rest[j] -= height;
  }
  return {};
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

// From the first window to the last.
double per_step_of(const Windows& windows, std::int64_t window) {
  return static_cast<double>(windows.lowest[kWindows - 1] - windows.lowest[0]) /
         static_cast<double>((kWindows - 1) * window);
}

TrendState state_of(const Windows& windows, double floor_per_window, bool is_exact) {
  std::array<double, kWindows - 1> rises{};
  for (std::size_t w = 0; w < rises.size(); ++w) {
    rises[w] = static_cast<double>(windows.lowest[w + 1] - windows.lowest[w]);
  }
  const auto [smallest, largest] = std::minmax_element(rises.begin(), rises.end());
  const bool is_steady = *smallest > floor_per_window && *smallest >= kSlowestPart * *largest;
  // An exact ledger of random sizes has rising minima once in 24 looks by chance; a leak lifts the maxima too.
  const bool is_lifted = std::adjacent_find(windows.highest.begin(), windows.highest.end(), std::greater_equal<>()) ==
                         windows.highest.end();
  if (is_steady && (is_lifted || !is_exact)) return TrendState::growing;
  if (!is_exact) return std::max(rises[1], rises[2]) <= floor_per_window ? TrendState::flat : TrendState::undecided;
  const auto earlier_high = std::max({windows.highest[0], windows.highest[1], windows.highest[2]});
  return *largest <= 0 && windows.highest[3] <= earlier_high ? TrendState::flat : TrendState::undecided;
}

// The same without the highest single rise in each window: of a list of small things the room for them rises in
// stairs, and they themselves each step.
std::vector<std::int64_t> without_stairs(Values values, std::int64_t window) {
  std::vector<std::int64_t> rest(values.begin(), values.end());
  const auto begin = std::ssize(values) - kWindows * window;
  for (auto first = std::max<std::int64_t>(begin, 1); first < std::ssize(values); first += window) {
    const auto end = std::min(first + window, std::ssize(values));
    auto stair = first;
    for (auto i = first; i < end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const auto known = static_cast<std::size_t>(stair);
      if (values[at] - values[at - 1] > values[known] - values[known - 1]) stair = i;
    }
    const auto height = values[static_cast<std::size_t>(stair)] - values[static_cast<std::size_t>(stair - 1)];
    for (auto i = stair; height > 0 && i < std::ssize(values); ++i) rest[static_cast<std::size_t>(i)] -= height;
  }
  return rest;
}

// What it rises by a step where it does so steadily but for single stairs.
std::optional<double> rise_between_stairs(Values values, std::int64_t window, double floor) {
  const auto rest = without_stairs(values, window);
  const auto windows = windows_of(rest, window);
  const auto per_step = per_step_of(windows, window);
  const auto state = state_of(windows, floor * static_cast<double>(window), false);
  return state == TrendState::growing && !has_paused(rest, per_step) ? std::optional(per_step) : std::nullopt;
}

using Value = std::vector<std::int64_t>::iterator;

std::int64_t median(Value begin, Value end) {
  const auto middle = begin + (end - begin) / 2;
  std::nth_element(begin, middle, end);
  return *middle;
}

}  // namespace

std::int64_t window_of(std::int64_t values) { return (values - values / 4) / kWindows; }

Trend trend_of(Values values, const TrendOptions& options) {
  Trend trend;
  const auto count = static_cast<std::int64_t>(values.size());
  const auto period = std::max<std::int64_t>(options.period, 1);
  if (count < std::max(kShortestSeries, 3 * period)) return trend;
  const auto settled = values.subspan(static_cast<std::size_t>(count / 4));
  trend.window = window_of(count) / period * period;
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
    trend.per_step = per_step_of(windows, trend.window);
    trend.state = state_of(windows, options.floor * static_cast<double>(trend.window), options.is_exact);
    if (options.is_exact && !trend.is_growing() && is_full(values)) trend.state = TrendState::flat;
    // What a process's start takes is higher than any tooth.
    if (trend.state == TrendState::undecided && (has_level_troughs(values, options.floor) ||
                                                 (!options.is_exact && has_level_troughs(settled, options.floor)))) {
      trend.state = TrendState::flat;
    }
    if (!options.is_exact && trend.is_growing() && has_paused(values, trend.per_step)) {
      trend.state = TrendState::undecided;
    }
    if (options.sees_stairs && trend.state == TrendState::undecided) {
      if (const auto rise = rise_between_stairs(settled, trend.window, options.floor); rise.has_value()) {
        trend.state = TrendState::growing;
        trend.per_step = *rise;
      }
    }
    if (options.sees_stairs && !trend.is_growing()) {
      const auto stairs = all_stairs_of(values).trend;
      if (stairs.state != TrendState::too_short && stairs.per_step >= options.floor) {
        trend.state = stairs.state;
        trend.per_step = stairs.per_step;
        trend.is_in_stairs = true;
      }
    }
  }
  if (trend.is_growing()) trend.since_step = since_step_of(values);
  return trend;
}

Trend trend_of_readings(Values steps, Values values, double floor) {
  Trend trend;
  if (steps.size() <= kWindows) return trend;
  const auto first = steps.size() - 1 - kWindows;
  std::array<double, kWindows> rates{};
  for (std::size_t i = 0; i < kWindows; ++i) {
    const auto at = first + i;
    rates[i] = static_cast<double>(values[at + 1] - values[at]) / static_cast<double>(steps[at + 1] - steps[at]);
  }
  const auto [slowest, fastest] = std::minmax_element(rates.begin(), rates.end());
  trend.per_step =
      static_cast<double>(values.back() - values[first]) / static_cast<double>(steps.back() - steps[first]);
  trend.state = *fastest < floor                                           ? TrendState::flat
                : *slowest >= floor && *slowest >= kSlowestPart * *fastest ? TrendState::growing
                                                                           : TrendState::undecided;
  return trend;
}

bool comes_back(Values values) {
  constexpr std::size_t kFewest = 3;
  constexpr std::size_t kShortest = 192;
  if (values.size() < kShortest) return false;
  const auto lowest = *std::min_element(values.begin(), values.end());
  std::vector<std::size_t> returns;
  std::vector<std::int64_t> heights;
  std::int64_t highest = lowest;
  for (std::size_t i = 0; i < values.size(); ++i) {
    highest = std::max(highest, values[i]);
    if (values[i] > lowest || highest == lowest) continue;
    returns.push_back(i);
    heights.push_back(highest);
    highest = lowest;
  }
  if (returns.size() < kFewest || 2 * (returns.back() - returns.front()) < values.size()) return false;
  if (4 * (values.size() - returns.back()) > values.size()) return false;
  const bool is_ever_higher =
      std::adjacent_find(heights.begin(), heights.end(), std::greater_equal<>()) == heights.end();
  return !is_ever_higher && highest <= *std::max_element(heights.begin(), heights.end());
}

bool has_paused(Values values, double per_step) {
  constexpr std::size_t kShortest = 16;
  constexpr double kShare = 0.25;
  const auto newest = values.size() / 8;
  if (newest < kShortest) return false;
  const auto rise = static_cast<double>(values.back() - values[values.size() - 1 - newest]);
  return rise < kShare * per_step * static_cast<double>(newest);
}

bool has_levelled_off(Values values) {
  constexpr std::int64_t kFewest = 7;
  constexpr std::int64_t kSlower = 3;
  struct Rises {
    std::int64_t steps = 0;
    std::int64_t sum = 0;
    std::int64_t highest = 0;
  };
  Rises early;
  Rises late;
  const auto settled = values.size() / 8;
  if (settled == 0) return false;
  auto level = *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(settled));
  auto last_rise = settled;
  std::size_t longest_pause = 1;
  for (auto i = settled; i < values.size(); ++i) {
    if (values[i] <= level) continue;
    auto& half = 2 * i < values.size() ? early : late;
    half.steps += 1;
    half.sum += values[i] - level;
    half.highest = std::max(half.highest, values[i] - level);
    level = values[i];
    longest_pause = std::max(longest_pause, i - last_rise);
    last_rise = i;
  }
  const auto silence = values.size() - 1 - last_rise;
  const bool is_over = silence >= std::max(values.size() / 4, kPauses * longest_pause);
  if (is_over && early.steps + late.steps >= kFewest) return true;
  return early.steps >= kFewest && early.steps >= kSlower * late.steps &&
         early.sum - early.highest >= kSlower * late.sum && silence >= std::max(settled, longest_pause);
}

bool has_upward_trend(Values values) {
  constexpr std::size_t kParts = 16;
  const auto settled = values.subspan(values.size() / 4);
  const auto width = settled.size() / kParts;
  if (width == 0) return true;
  std::array<double, kParts> means{};
  for (std::size_t part = 0; part < kParts; ++part) {
    const auto values_here = settled.subspan(settled.size() - (kParts - part) * width, width);
    means[part] = std::accumulate(values_here.begin(), values_here.end(), 0.0) / static_cast<double>(width);
  }
  int concordant = 0;
  for (std::size_t later = 1; later < kParts; ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      concordant += means[later] > means[earlier] ? 1 : means[later] < means[earlier] ? -1 : 0;
    }
  }
  // Without a trend the sum is normal about 0 with this variance; 1.645 of its deviations are exceeded once in twenty.
  constexpr double kVariance = kParts * (kParts - 1) * (2 * kParts + 5) / 18.0;
  return concordant > 1.645 * std::sqrt(kVariance);
}

namespace {

// The squared distance of a series from the line that fits it best over f(step), over its last seven eighths: the first
// is warm-up. (Least squares: Draper and Smith, Applied Regression Analysis, 1.2.)
template <typename Function>
double misfit(Values values, const Function& f) {
  const auto from = values.size() / 8;
  const auto count = static_cast<double>(values.size() - from);
  double mean_x = 0;
  double mean_y = 0;
  for (auto i = from; i < values.size(); ++i) {
    mean_x += f(static_cast<double>(i + 1)) / count;
    mean_y += static_cast<double>(values[i] - values[from]) / count;
  }
  double xx = 0;
  double xy = 0;
  double yy = 0;
  for (auto i = from; i < values.size(); ++i) {
    const auto x = f(static_cast<double>(i + 1)) - mean_x;
    const auto y = static_cast<double>(values[i] - values[from]) - mean_y;
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  return std::max(0.0, yy - xy * xy / xx);
}

// What a series rose by in some 32 equal parts of `width` steps, of whole readings; empty where it is too short.
struct Parts {
  std::int64_t width = 0;
  std::vector<std::int64_t> rises;
};

Parts parts_of(Values values, std::int64_t gap) {
  constexpr std::size_t kParts = 32;
  constexpr std::size_t kFewestParts = 16;
  if (values.empty()) return {};
  const auto reading = static_cast<std::size_t>(std::max<std::int64_t>(1, gap));
  const auto width = ((values.size() - 1) / kParts + reading - 1) / reading * reading;
  const auto count = width == 0 ? 0 : (values.size() - 1) / width;
  if (count < kFewestParts) return {};
  Parts parts{.width = static_cast<std::int64_t>(width)};
  for (auto end = values.size() - 1 - (count - 1) * width; end < values.size(); end += width) {
    parts.rises.push_back(values[end] - values[end - width]);
  }
  return parts;
}

}  // namespace

bool rises_in_stairs(Values values) { return all_stairs_of(values).trend.state != TrendState::too_short; }

bool is_next_stair(Values before, std::int64_t rise) {
  constexpr double kMost = 2.2;  // a buffer doubles at most
  const auto newest = all_stairs_of(before).newest;
  return newest > 0 && static_cast<double>(rise) >= newest && static_cast<double>(rise) <= kMost * newest;
}

Decay decay_of(Values values, double floor, std::int64_t gap) {
  constexpr double kDecay = 0.75;
  constexpr double kBetter = 2.0 / 3;
  constexpr double kStillFalling = 0.9;
  const auto [width, rises] = parts_of(values, gap);
  if (rises.empty() || rises_in_stairs(values)) return Decay::none;
  const auto parts = std::ssize(rises);
  // What is made once does not move the median.
  const auto median_of = [begin = rises.begin()](std::ptrdiff_t first, std::ptrdiff_t end) {
    std::vector<std::int64_t> part(begin + first, begin + end);
    return static_cast<double>(median(part.begin(), part.end()));
  };
  const auto early = median_of(parts / 8, parts / 2);
  if (early <= 0 || median_of(parts / 2, parts) >= kDecay * early) return Decay::none;
  const auto line = misfit(values, [](double step) { return step; });
  const auto curve = std::min(misfit(values, [](double step) { return std::log(step); }),
                              misfit(values, [](double step) { return std::sqrt(step); }));
  if (curve >= kBetter * line) return Decay::none;
  const auto newest = median_of(parts - parts / 4, parts);
  if (newest <= 0 || newest < floor * static_cast<double>(width)) return Decay::over;
  return newest < kStillFalling * median_of(parts / 2, parts - parts / 4) ? Decay::falling : Decay::onto_line;
}

bool is_decaying(Values values, std::int64_t gap) { return decay_of(values, 0, gap) != Decay::none; }

}  // namespace stepleak
