// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/analyse/trend.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <random>

namespace stepleak {
namespace {

using Rule = std::function<std::int64_t(std::int64_t)>;

std::vector<std::int64_t> series(std::int64_t steps, const Rule& rule) {
  std::vector<std::int64_t> values;
  for (std::int64_t step = 1; step <= steps; ++step) values.push_back(rule(step));
  return values;
}

TrendState state_of(std::int64_t steps, const Rule& rule) { return trend_of(series(steps, rule)).state; }

TEST(TrendTest, CallsALinearRiseGrowingWithItsRateAndFirstStep) {
  const auto trend = trend_of(series(64, [](auto step) { return 1000 + 512 * std::max<std::int64_t>(step - 3, 0); }));
  EXPECT_TRUE(trend.is_growing());
  EXPECT_DOUBLE_EQ(trend.per_step, 512);
  EXPECT_EQ(trend.since_step, 4);
}

TEST(TrendTest, CallsAConstantLevelFlatAfterAWarmUp) {
  EXPECT_EQ(state_of(64, [](auto step) { return std::min<std::int64_t>(step, 5) * 100; }), TrendState::flat);
}

TEST(TrendTest, SeesALeakUnderASawTooth) {
  const auto trend = trend_of(series(128, [](auto step) { return (step % 8) * 1000 + step / 8 * 64; }));
  EXPECT_TRUE(trend.is_growing());
  EXPECT_DOUBLE_EQ(trend.per_step, 8);
  EXPECT_EQ(trend.period, 8);
}

TEST(TrendTest, IgnoresASawToothThatComesBack) {
  EXPECT_EQ(state_of(128, [](auto step) { return (step % 8) * 1000; }), TrendState::flat);
}

TEST(TrendTest, SeesALeakOfEveryTenthStep) {
  EXPECT_EQ(state_of(256, [](auto step) { return step / 10 * 64; }), TrendState::growing);
}

TEST(TrendTest, SettlesOnTheTroughsOfALongSawTooth) {
  const TrendOptions noisy{.floor = 512, .is_exact = false};
  const auto tooth = [](auto step) { return step % 180 * 12'000; };
  const auto sampled = [&](auto step) { return tooth(step / 8 * 8) + 1'000 * (step / 8 % 7); };
  const auto remainder = [&](auto step) { return tooth(step) + step / 180 * 8; };
  EXPECT_EQ(state_of(564, tooth), TrendState::flat);
  EXPECT_EQ(trend_of(series(564, sampled), noisy).state, TrendState::flat);
  EXPECT_EQ(state_of(564, remainder), TrendState::undecided);
  EXPECT_EQ(state_of(500, tooth), TrendState::undecided);  // two troughs
  const auto stops = [&](auto step) { return step < 540 ? tooth(step) : (step - 540) * 12'000; };
  EXPECT_EQ(state_of(700, stops), TrendState::flat);
  EXPECT_EQ(state_of(760, stops), TrendState::undecided);
}

TEST(TrendTest, SettlesOnTeethBesideTheStartOfAProcess) {
  const TrendOptions noisy{.floor = 512, .is_exact = false};
  // Read every eighth step; what falls does so over two readings.
  const auto tooth = [](auto step) {
    const auto at = step / 8 * 8 % 280;
    return at == 0 ? 1'500'000 : 10'000 * at;
  };
  const auto started = [&](auto step) { return tooth(step) + std::min<std::int64_t>(step, 60) * 50'000; };
  EXPECT_EQ(trend_of(series(1024, started), noisy).state, TrendState::flat);
  EXPECT_EQ(trend_of(series(1024, started), {.floor = 512}).state, TrendState::undecided);  // an exact one has none
  const auto remainder = [&](auto step) { return started(step) + step / 280 * 280 * 600; };
  EXPECT_NE(trend_of(series(1024, remainder), noisy).state, TrendState::flat);
  const auto part_falls_later = [&](auto step) { return started(step) + (step % 280 < 60 ? 600'000 : 0); };
  EXPECT_NE(trend_of(series(1024, part_falls_later), noisy).state, TrendState::flat);
}

/// A list that gets one in each step and is emptied at these.
std::vector<std::int64_t> emptied_at(const std::vector<std::int64_t>& steps, std::int64_t count) {
  std::int64_t held = 0;
  return series(count, [&](auto step) {
    held = std::find(steps.begin(), steps.end(), step) != steps.end() ? 0 : held + 4;
    return 1000 + held;
  });
}

TEST(TrendTest, KnowsALevelThatItComesBackToAtOddTimes) {
  const std::vector<std::int64_t> odd{10, 140, 210, 390, 480, 660};
  EXPECT_TRUE(comes_back(emptied_at(odd, 768)));
  auto kept = emptied_at(odd, 768);
  for (std::size_t i = 500; i < kept.size(); ++i) kept[i] += 4;
  EXPECT_FALSE(comes_back(kept));
  EXPECT_FALSE(comes_back(emptied_at({10, 140, 210, 390}, 768)));       // not lately
  EXPECT_FALSE(comes_back(emptied_at({500, 590, 660}, 768)));           // not for long
  EXPECT_FALSE(comes_back(emptied_at({10, 100, 210, 390, 650}, 768)));  // each time from higher up
  EXPECT_FALSE(
      comes_back(emptied_at({10, 70, 120, 180, 240, 300, 360, 420, 480, 540, 590}, 768)));  // higher than ever by now
  EXPECT_FALSE(comes_back(emptied_at({10, 60, 80, 150}, 180)));
}

TEST(TrendTest, DoesNotTakeRandomLoadForASawTooth) {
  std::mt19937 draws(1);
  const auto load = [&](auto step) { return step * 2 + static_cast<std::int64_t>(draws() % 1000); };
  EXPECT_NE(state_of(512, load), TrendState::flat);
}

TEST(TrendTest, SettlesOnACacheThatIsFull) {
  EXPECT_EQ(state_of(768, [](auto step) { return std::min<std::int64_t>(step, 350); }), TrendState::flat);
  EXPECT_EQ(state_of(640, [](auto step) { return std::min<std::int64_t>(step, 350); }), TrendState::undecided);
}

TEST(TrendTest, DoesNotTakeARareLeakForACacheThatIsFull) {
  EXPECT_EQ(state_of(64, [](auto step) { return step / 33; }), TrendState::undecided);
}

TEST(TrendTest, DoesNotSettleOnALateRise) {
  EXPECT_EQ(state_of(64, [](auto step) { return step >= 60 ? 100 : 0; }), TrendState::undecided);
}

TEST(TrendTest, DoesNotCallACacheThatFillsAt150Growing) {
  EXPECT_NE(state_of(256, [](auto step) { return std::min<std::int64_t>(step, 150); }), TrendState::growing);
}

TEST(TrendTest, CallsACacheThatFilledAt150Flat) {
  EXPECT_EQ(state_of(1024, [](auto step) { return std::min<std::int64_t>(step, 150); }), TrendState::flat);
}

TEST(TrendTest, DoesNotCallADecayingRiseGrowing) {
  // 1/t: the n-th new shape comes ever later.
  EXPECT_NE(state_of(256, [](auto step) { return static_cast<std::int64_t>(1e6 - 1e7 / static_cast<double>(step)); }),
            TrendState::growing);
}

TEST(TrendTest, DoesNotCallRandomSizesGrowing) {
  int alarms = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    std::mt19937 random(seed);
    alarms += state_of(256, [&](auto) { return static_cast<std::int64_t>(random() % 1000000); }) == TrendState::growing;
  }
  EXPECT_LE(alarms, 1);
}

TEST(DecayTest, SeesWhatFillsEverMoreSlowly) {
  const auto rises_by = [](const std::function<double(double)>& rule) {
    return is_decaying(series(256, [&](auto step) { return std::lround(10000 * rule(static_cast<double>(step))); }));
  };
  EXPECT_TRUE(rises_by([](double step) { return std::log(step); }));
  EXPECT_TRUE(rises_by([](double step) { return std::sqrt(step); }));
  EXPECT_FALSE(rises_by([](double step) { return step; }));
  EXPECT_FALSE(rises_by([](double step) { return step + (step >= 40 ? 100 : 0); }));  // and something made once
  EXPECT_FALSE(rises_by([](double) { return 1; }));
  EXPECT_FALSE(is_decaying({}));
}

TEST(DecayTest, TellsWhatIsLeftWhenAStartUpHasFaded) {
  const auto decay = [](double line, double start_up, double fading) {
    return decay_of(series(512,
                           [&](auto step) {
                             const auto faded = 1 - std::exp(-static_cast<double>(step) / fading);
                             return std::lround(line * static_cast<double>(step) + start_up * faded);
                           }),
                    512);
  };
  EXPECT_EQ(decay(600, 300'000, 90), Decay::onto_line);
  EXPECT_EQ(decay(0, 300'000, 90), Decay::over);
  EXPECT_EQ(decay(100, 300'000, 90), Decay::over);  // by less than the floor
  EXPECT_EQ(decay(0, 3'000'000, 300), Decay::falling);
  EXPECT_EQ(decay(600, 0, 90), Decay::none);
}

// A ledger that is read at every eighth step only, and held in between.
bool is_decaying_as_read(std::int64_t steps, const std::function<std::int64_t(std::int64_t)>& level) {
  return is_decaying(series(steps, [&](auto step) { return level(step / 8 * 8); }), 8);
}

TEST(DecayTest, IsNoMatterOfWhenALedgerIsRead) {
  for (const std::int64_t steps : {256, 384, 512, 768, 1006}) {
    EXPECT_FALSE(is_decaying_as_read(steps, [](auto step) { return 600 * step + step % 5; })) << steps;
    EXPECT_TRUE(is_decaying_as_read(steps, [](auto step) { return std::lround(1e5 * std::log(step + 1)); })) << steps;
  }
}

TEST(DecayTest, SeesNoneInOneBufferThatGrowsByAPartOfItself) {
  // As Python's bytearray and io.BytesIO take an eighth more than they need, and a vector the same again.
  for (const double part : {1.125, 1.5, 2.0}) {
    const auto capacity = [&](std::int64_t step) {
      double bytes = 4096;
      while (bytes < 2048.0 * static_cast<double>(step)) bytes *= part;
      return std::lround(bytes);
    };
    for (const std::int64_t steps : {256, 384, 512, 768, 1006}) {
      EXPECT_FALSE(is_decaying_as_read(steps, capacity)) << part << " at " << steps;
    }
  }
}

TEST(LevelTest, IsReachedByWhatFillsAndNotByWhatGoesOn) {
  const auto levels_off = [](const std::function<double(double)>& rule) {
    return has_levelled_off(series(1024, [&](auto step) { return std::lround(rule(static_cast<double>(step))); }));
  };
  EXPECT_TRUE(levels_off([](double step) { return 500 * (1 - std::exp(-step / 125)); }));
  EXPECT_FALSE(levels_off([](double step) { return 500 * (1 - std::exp(-step / 400)); }));  // still fills
  EXPECT_FALSE(levels_off([](double step) { return step; }));
  EXPECT_FALSE(levels_off([](double step) { return 1000 * std::log(step); }));
  EXPECT_FALSE(levels_off([](double step) { return 1000 * std::sqrt(step); }));
  EXPECT_FALSE(levels_off([](double step) { return std::floor(step / 150); }));
  EXPECT_FALSE(levels_off([](double step) { return step + (step >= 400 ? 1e6 : 0); }));  // and something made once
  EXPECT_FALSE(levels_off([](double step) { return std::min(step, 960.0); }));           // full, and hardly for long
  EXPECT_TRUE(levels_off([](double step) { return std::floor(std::min(step, 720.0) / 30); }));
  EXPECT_FALSE(levels_off([](double step) { return std::floor(std::min(step, 820.0) / 30); }));
  EXPECT_FALSE(levels_off([](double step) { return std::floor(std::min(step, 720.0) / 90); }));
  EXPECT_FALSE(levels_off([](double) { return 1; }));
  EXPECT_FALSE(has_levelled_off({}));
}

TEST(LevelTest, IsSeldomSeenInWhatGoesOnNowAndThen) {
  std::mt19937 random(1);
  const auto levels_off = [&](unsigned every) {
    int count = 0;
    for (int run = 0; run < 400; ++run) {
      std::int64_t level = 0;
      count += has_levelled_off(series(1024, [&](auto) { return level += random() % every == 0 ? 64 : 0; })) ? 1 : 0;
    }
    return count;
  };
  for (const unsigned every : {10, 20, 40, 60, 100}) EXPECT_LE(levels_off(every), 2) << every;
}

TEST(UpwardTrendTest, IsSeldomSeenInRandomLoadAndSeenInARiseBelowIt) {
  std::mt19937 random(1);
  const auto alarms = [&](std::int64_t rise) {
    int count = 0;
    for (int run = 0; run < 200; ++run) {
      count += has_upward_trend(
                   series(128, [&](auto step) { return rise * step + static_cast<std::int64_t>(random() % 100000); }))
                   ? 1
                   : 0;
    }
    return count;
  };
  EXPECT_LE(alarms(0), 20);  // 5 % are expected
  EXPECT_GE(alarms(1000), 195);
}

TEST(TrendTest, NeedsEightValuesAndThreeDeclaredPeriods) {
  EXPECT_EQ(trend_of(series(7, [](auto step) { return step; })).state, TrendState::too_short);
  EXPECT_NE(trend_of(series(8, [](auto step) { return step; })).state, TrendState::too_short);
  EXPECT_EQ(trend_of(series(64, [](auto step) { return step; }), {.period = 30}).state, TrendState::too_short);
}

TEST(TrendTest, DoesNotCallANoisyLedgerGrowingThatHasPaused) {
  const TrendOptions options{.floor = 512, .is_exact = false};
  EXPECT_NE(trend_of(series(512, [](auto step) { return std::min<std::int64_t>(step, 400) * 2000; }), options).state,
            TrendState::growing);
}

TEST(TrendTest, JudgesANoisyLedgerAboveItsFloorOnly) {
  const TrendOptions options{.floor = 512, .is_exact = false};
  const auto noisy = [](std::int64_t per_step) {
    return series(256, [=](auto step) { return step * per_step + (step * 7919) % 300; });
  };
  EXPECT_EQ(trend_of(noisy(1400), options).state, TrendState::growing);
  EXPECT_EQ(trend_of(noisy(150), options).state, TrendState::flat);
}

// A buffer that takes so much of itself more than it needs, as far as it is filled; read at each eighth step, and
// beside other memory that trembles.
std::vector<std::int64_t> buffer_of(std::int64_t steps, double part, double bytes_per_step, std::int64_t filled_until) {
  std::vector<std::int64_t> values;
  double capacity = 512;
  for (std::int64_t step = 1; step <= steps; ++step) {
    const auto read = std::min(step / 8 * 8, filled_until);
    while (capacity < bytes_per_step * static_cast<double>(read)) capacity *= part;
    values.push_back(std::lround(capacity) + step / 8 * 7919 % 500);
  }
  return values;
}

constexpr TrendOptions kStairs{.floor = 512, .is_exact = false, .sees_stairs = true};

TEST(StairsTest, ABufferThatMakesRoomAheadGrowsWithItsRate) {
  for (const double part : {1.125, 1.5, 2.0}) {
    for (const std::int64_t steps : {384, 512, 768}) {
      EXPECT_NE(trend_of(buffer_of(steps, part, 2048, steps), kStairs).state, TrendState::flat) << part << " " << steps;
    }
    const auto trend = trend_of(buffer_of(1024, part, 2048, 1024), kStairs);
    EXPECT_EQ(trend.state, TrendState::growing) << part;
    EXPECT_NEAR(trend.per_step, 2048, 300) << part;
  }
}

TEST(StairsTest, SeesABufferBehindAHigherRise) {
  const auto with_rise = [](std::int64_t filled_until) {
    auto values = buffer_of(1024, 1.5, 2800, filled_until);
    for (std::size_t i = 90; i < values.size(); ++i) values[i] += 2'400'000;
    return trend_of(values, kStairs);
  };
  EXPECT_EQ(with_rise(1024).state, TrendState::growing);
  EXPECT_NEAR(with_rise(1024).per_step, 2800, 500);
  EXPECT_EQ(with_rise(200).state, TrendState::flat);
}

// What a record pass left, or what is taken for it, lies between two of a few stairs.
TEST(StairsTest, SeesABufferThatDoublesOverARecordPass) {
  const auto over = [](std::int64_t own, std::int64_t filled_until) {
    auto values = buffer_of(512, 2.0, 1310, filled_until);
    for (std::size_t i = 151; i < values.size(); ++i) values[i] += own;
    return values;
  };
  for (const std::int64_t own : {0, 80'000, 2'110'000}) {
    const auto trend = trend_of(over(own, 512), kStairs);
    EXPECT_EQ(trend.state, TrendState::growing) << own;
    EXPECT_NEAR(trend.per_step, 1310, 300) << own;
    EXPECT_TRUE(rises_in_stairs(over(own, 512))) << own;
    EXPECT_EQ(decay_of(over(own, 512), 512, 8), Decay::none) << own;
    EXPECT_EQ(trend_of(over(own, 60), kStairs).state, TrendState::flat) << own;
    EXPECT_FALSE(rises_in_stairs(over(own, 60))) << own;
  }
}

TEST(StairsTest, TheNextIsAsHighAsTheNewestOrTwice) {
  const auto before = buffer_of(250, 2.0, 1310, 250);
  constexpr std::int64_t newest = 1 << 18;
  EXPECT_TRUE(is_next_stair(before, 2 * newest));
  EXPECT_FALSE(is_next_stair(before, newest / 2));
  EXPECT_FALSE(is_next_stair(before, 4 * newest));
  EXPECT_FALSE(is_next_stair(series(250, [](auto step) { return 1310 * step; }), 2 * newest));
}

// Strings, and a list of them whose room doubles.
TEST(StairsTest, AListOfSmallThingsGrowsBetweenItsStairs) {
  const auto strings = [](std::int64_t added_until) {
    auto values = buffer_of(1024, 2.0, 330, added_until);
    for (std::int64_t step = 1; step <= 1024; ++step) {
      values[static_cast<std::size_t>(step - 1)] += 777 * (std::min(step, added_until) / 8 * 8);
    }
    return trend_of(values, kStairs);
  };
  EXPECT_EQ(strings(1024).state, TrendState::growing);
  EXPECT_NEAR(strings(1024).per_step, 777, 50);
  EXPECT_FALSE(strings(600).is_growing());
}

TEST(StairsTest, WhatDoublesIsNotFlatBeforeItsNextStairShouldHaveCome) {
  for (double rate = 1000; rate < 2000; rate += 100) {
    EXPECT_NE(trend_of(buffer_of(64, 2.0, rate, 64), kStairs).state, TrendState::flat) << rate;
  }
}

TEST(StairsTest, ABufferThatIsFullIsFlat) {
  for (const double part : {1.125, 1.5, 2.0}) {
    EXPECT_EQ(trend_of(buffer_of(384, part, 2048, 64), kStairs).state, TrendState::flat) << part;
  }
}

TEST(StairsTest, EqualStairsAndStairsByChanceAreNoBuffer) {
  int growing = 0;
  for (unsigned seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    std::int64_t level = 0;
    // Plans of a library, of each new shape: ever rarer.
    const auto plans = series(512, [&](auto step) {
      return level += random() % (8 + static_cast<unsigned>(step)) == 0 ? 2000 + random() % 60000 : 0;
    });
    growing += trend_of(plans, kStairs).is_growing() ? 1 : 0;
  }
  EXPECT_LE(growing, 2);
}

// --- of few readings
// --------------------------------------------------------------------------------------------------

constexpr std::array<std::int64_t, 6> kReadAt{8, 16, 24, 32, 48, 64};

Trend trend_at_looks(const std::function<std::int64_t(std::int64_t)>& value_at, double floor = 4096) {
  std::vector<std::int64_t> values;
  std::ranges::transform(kReadAt, std::back_inserter(values), value_at);
  return trend_of_readings(kReadAt, values, floor);
}

TEST(TrendOfReadingsTest, GrowsWhereEachIntervalRises) {
  const auto trend = trend_at_looks([](auto step) { return 10'000 * step; });
  EXPECT_EQ(trend.state, TrendState::growing);
  EXPECT_EQ(trend.per_step, 10'000);
}

TEST(TrendOfReadingsTest, IsFlatBelowItsFloor) {
  EXPECT_EQ(trend_at_looks([](auto step) { return 4000 * step; }).state, TrendState::flat);
  EXPECT_EQ(trend_at_looks([](auto) { return 7; }, 1).state, TrendState::flat);
}

TEST(TrendOfReadingsTest, IsUndecidedWhereOneIntervalRestsOrIsSlow) {
  EXPECT_EQ(trend_at_looks([](auto step) { return 10'000 * std::min<std::int64_t>(step, 48); }).state,
            TrendState::undecided);
  EXPECT_EQ(trend_at_looks([](auto step) { return step < 64 ? 20'000 * step : 20'000 * 48 + 16 * 7'000; }).state,
            TrendState::undecided);
  EXPECT_EQ(trend_at_looks([](auto step) { return step < 64 ? 20'000 * step : 20'000 * 48 + 16 * 9'000; }).state,
            TrendState::growing);
}

TEST(TrendOfReadingsTest, IsTooShortBelowFiveReadings) {
  constexpr std::array<std::int64_t, 4> kFew{1, 2, 3, 4};
  EXPECT_EQ(trend_of_readings(kFew, kFew, 0).state, TrendState::too_short);
}

}  // namespace
}  // namespace stepleak
