// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace stepleak {

enum class TrendState : std::uint8_t {
  too_short,  ///< fewer than kShortestSeries values, or than three declared periods
  flat,       ///< settled: it no longer rises
  growing,    ///< it rises in every window and at a rate that does not decay
  undecided,  ///< it still moves; more steps decide
};

/// What a ledger does over a run.
struct Trend {
  TrendState state = TrendState::too_short;
  double per_step = 0;  ///< rise per step between the first and the last window; of a whole period where one was found
  std::int64_t window = 0;      ///< steps in a window: the longest period of a leak that this look can see
  std::int64_t period = 0;      ///< steps after which the differences repeat exactly; 0: no such period
  std::int64_t since_step = 0;  ///< first step after which the ledger never came back to where it was
  double floor = 0;  ///< of a ledger that is read now and then: what rises by more a step is sure not to be flat
  /// Of such a one: a record pass hides one of its two newest windows, over which it is taken to go on as before.
  bool is_half_seen = false;
  bool is_in_stairs = false;  ///< of such a one: it grows as one buffer that makes room ahead, and not in between

  [[nodiscard]] bool is_growing() const { return state == TrendState::growing; }
  [[nodiscard]] bool is_flat() const { return state == TrendState::flat; }
};

struct TrendOptions {
  std::int64_t period = 0;   ///< that windows are whole ones of: declared by the user, or from one reading to the next
  double floor = 0;          ///< per step; a noisy ledger that rises by less is flat
  bool is_exact = true;      ///< an exact ledger may be judged by its exact period
  bool sees_stairs = false;  ///< whether one buffer that makes room ahead for a part of itself is told from noise
};

inline constexpr std::int64_t kShortestSeries = 8;

/// A cache that fills ever more slowly: 1/t or exponential decay falls below this part of its rate within four windows.
inline constexpr double kSlowestPart = 0.4;

/// The length of each of the four windows that so many values are cut into.
[[nodiscard]] std::int64_t window_of(std::int64_t values);

/// Judges one ledger. docs/how-it-works.md tells the rule with its reasons; in short:
/// 1. Warm-up: the first quarter is dropped.
/// 2. Exact ledgers: where the differences of the rest repeat with a period p, three times at least, the
///    sum over one period is the growth, and there is nothing more to decide.
/// 3. Else the rest is cut into four windows and the minimum of each is taken (a saw-tooth has constant
///    minima, a leak has rising ones). Growing: all three differences are positive and the smallest is at
///    least 0.4 of the largest (a cache that fills ever more slowly decays faster than that); an exact ledger's
///    maxima must rise too (random sizes alone raise the minima now and then). Flat: none is positive, and the last
///    window reached no new maximum (a late rise would hide behind the minimum); or an exact ledger has stood still for
///    half of all steps, and for four times as long as it ever paused before (a cache that is full); or it fell three
///    times by half of its range, rises in between, and came down to the same level (a noisy one: behind the first
///    quarter). A noisy one whose newest eighth rises by less than a quarter of its rate has paused, and is not
///    growing. One with a floor that rises in ever higher and rarer stairs, at one rate in all, is growing after five
///    of them, and not flat after three; and so it is where it would be growing without the highest single rise in each
///    window.
/// A pure function; O(n^2) in the worst case for the search of a period, n = number of values.
[[nodiscard]] Trend trend_of(std::span<const std::int64_t> values, const TrendOptions& options = {});

/// Judges a ledger that was read at few boundaries, as at looks, by its last four intervals, which stand in the place
/// of windows: growing where each rose by `floor` a step at least, and the slowest by 0.4 of the fastest at least; flat
/// where none did; too short with fewer than five readings.
[[nodiscard]] Trend trend_of_readings(std::span<const std::int64_t> steps, std::span<const std::int64_t> values,
                                      double floor);

/// Whether a series that rose by `per_step` has risen by less than a quarter of that lately, in its newest eighth: what
/// filled until lately has rising minima still. Never where that is shorter than sixteen steps, as long as readings of
/// some ledgers are apart.
[[nodiscard]] bool has_paused(std::span<const std::int64_t> values, double per_step);

/// Whether an exact ledger comes back to the very same lowest level time and again, over half of all steps and up to
/// the newest quarter: of what is emptied whenever something happens, and holds ever other amounts until then, nothing
/// has stayed in between. Not where each tooth is higher than the one before, or the last, which is not over, the
/// highest. Never of fewer than 192 steps: the number of some open requests does so by chance.
[[nodiscard]] bool comes_back(std::span<const std::int64_t> values);

/// Whether a series that filled has come to its level: between its first eighth and its half it reached a new maximum
/// in seven steps at least, by three times as much in all, and in three times as many steps, as in the second half; and
/// none came in the newest eighth, nor for as long as it ever waited for one before. A line rises by 1.3 times as much
/// in the second half, the square root of the steps by 0.8 and their logarithm by half. Where nine steps are expected
/// by chance, fewer than three are seen in one of 160 runs (Poisson). The highest single rise of the first half does
/// not count: what is made once. Or it reached seven, wherever, and none came for a quarter of all steps and for four
/// times as long as it ever waited.
[[nodiscard]] bool has_levelled_off(std::span<const std::int64_t> values);

/// Whether values rise by more than chance would have it: the Mann-Kendall test (Mann 1945, Kendall 1975), one-sided at
/// 5 %, over the means of sixteen equal parts of the last three quarters.
[[nodiscard]] bool has_upward_trend(std::span<const std::int64_t> values);

/// Whether it rises in ever higher and rarer stairs, at one rate in all, but for what rose once and higher: as one
/// buffer does that makes room ahead for a part of itself.
[[nodiscard]] bool rises_in_stairs(std::span<const std::int64_t> values);

/// Whether what it rises by then may be the next of such stairs: as high as the newest, and twice as high at most.
[[nodiscard]] bool is_next_stair(std::span<const std::int64_t> before, std::int64_t rise);

/// How a series that rises does so ever more slowly, as what fills does and a leak does not.
enum class Decay : std::uint8_t {
  none,
  onto_line,  ///< and no more: what a start-up adds to a line decays, and leaves the line
  falling,    ///< and still does
  over,       ///< and does not rise any more, or by less than a floor
  of_shapes,  ///< and only where a step has a shape that is new (new_peaks.hpp), of which there are ever fewer
};

/// Whether what decays does not end in a line.
[[nodiscard]] constexpr bool is_fading(Decay decay) { return decay != Decay::none && decay != Decay::onto_line; }

/// Both must say that it decays: over some 32 equal parts, of whole readings (`gap`: the steps between two of them),
/// the median rise of the second half is below three quarters of that of the first, whose first quarter is warm-up (a
/// line keeps its rate; growth by the logarithm or the square root of the steps has 0.4 or 0.6 of it); and one of these
/// curves fits with less than two thirds of the squared error of a line. One buffer that grows by a part of itself has
/// ever longer stairs, and lies along a line. It still falls where the median rise of the newest quarter is below nine
/// tenths of that of the quarter before it: of the logarithm it is 0.71 of it, of the square root 0.84. `floor`: a
/// step.
[[nodiscard]] Decay decay_of(std::span<const std::int64_t> values, double floor, std::int64_t gap = 1);

/// Whether it decays at all.
[[nodiscard]] bool is_decaying(std::span<const std::int64_t> values, std::int64_t gap = 1);

}  // namespace stepleak
