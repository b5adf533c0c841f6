// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/analyse/trends.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace stepleak {
namespace {

constexpr std::int64_t kScreened = 256;
constexpr std::int64_t kRecorded = 18;
constexpr std::int64_t kSteps = 480;
constexpr std::int64_t kLeak = 3000;
constexpr std::int64_t kLeftBehind = 2 << 20;

/// A ledger of a run, of which steps hold `held`, read at every eighth boundary and not in the record pass, which
/// leaves `own` behind.
Trace run_of(const SeriesKey& key, const std::function<std::int64_t(std::int64_t)>& held, std::int64_t own,
             std::int64_t screened, std::int64_t steps) {
  Trace trace({}, {key});
  for (std::int64_t step = 1; step <= steps; ++step) {
    const bool is_recorded = step > screened && step <= screened + kRecorded;
    if (step == screened + 1) {
      trace.add_look({});
      trace.begin_pass({.type = PassType::record, .planned_steps = kRecorded});
    }
    if (step == screened + kRecorded + 1) trace.begin_pass({.type = PassType::screen});
    const auto value = held(step) + (step > screened ? own : 0);
    trace.add_boundary(std::vector<std::int64_t>{step % 8 == 0 && !is_recorded ? value : kUnread});
  }
  trace.add_look({});
  return trace;
}

Trace heap_of_run(const std::function<std::int64_t(std::int64_t)>& held, std::int64_t own) {
  return run_of({Counter::heap_bytes}, held, own, kScreened, kSteps);
}

/// It grows by kLeak a step up to step `last`.
Trace leak_of_run(std::int64_t last, std::int64_t own) {
  return heap_of_run([=](auto step) { return kLeak * std::min(step, last); }, own);
}

TEST(TrendsTest, TakeNothingForTheStepsThatARecordPassLeaves) {
  for (const std::int64_t own : {std::int64_t{0}, kLeftBehind, -kLeftBehind}) {
    const auto trace = leak_of_run(kSteps, own);
    const Trends trends(trace);
    EXPECT_TRUE(trends.heap().is_growing()) << own;
    EXPECT_FALSE(trends.is_decaying({Counter::heap_bytes})) << own;
    EXPECT_NEAR(trends.heap().per_step, kLeak, kLeak / 20.0) << own;
  }
}

// An arena whose chunks become larger took none in the last readings. That it grew is why steps were recorded.
TEST(TrendsTest, TakeWhatGrewUpToARecordPassForFlatOnlyWhereItWasReadSince) {
  const auto heap_after = [](std::int64_t steps, std::int64_t grown_until) {
    const auto arena = [=](std::int64_t step) { return 2400 * std::min({step, grown_until, std::int64_t{24}}); };
    const auto trace = run_of({Counter::heap_bytes}, arena, kLeftBehind, 32, steps);
    return Trends(trace).heap();
  };
  EXPECT_EQ(heap_after(64, 24).state, TrendState::undecided);
  EXPECT_EQ(heap_after(256, 24).state, TrendState::flat);
  EXPECT_EQ(heap_after(64, 1).state, TrendState::flat);
}

/// A buffer that doubles last just before CUPTI comes in at step 57, and takes 16 MiB, or one that is full by then.
Trace buffer_beside_cupti(std::int64_t full_at) {
  const SeriesKey objects{Counter::cuda_objects, Device{DeviceType::cuda, 0}};
  Trace trace({}, {{Counter::heap_bytes}, objects});
  for (std::int64_t step = 1; step <= 256; ++step) {
    std::int64_t buffer = 16384;
    for (std::int64_t doubled_at = 7; doubled_at <= std::min(step, full_at); doubled_at *= 2) buffer *= 2;
    const auto heap = buffer + (step >= 57 ? 16 << 20 : 0);
    trace.add_boundary(std::vector<std::int64_t>{step % 8 == 0 ? heap : kUnread, step >= 57 ? 0 : kUnread});
  }
  trace.add_look({});
  return trace;
}

TEST(TrendsTest, SeeStairsOfABufferOverWhatCuptiTakes) {
  EXPECT_FALSE(Trends(buffer_beside_cupti(256)).heap().is_flat());
  EXPECT_TRUE(Trends(buffer_beside_cupti(56)).heap().is_flat());
}

TEST(TrendsTest, MakeNoGrowthOfWhatHadEndedBeforeTheRecordPass) {
  for (const std::int64_t own : {std::int64_t{0}, kLeftBehind, -kLeftBehind}) {
    EXPECT_TRUE(Trends(leak_of_run(16, own)).heap().is_flat()) << own;
  }
}

// As a library does at its first use, which is most of what the steps before a record pass tell.
TEST(TrendsTest, TakeWhatRoseOnceBeforeARecordPassForNoRule) {
  constexpr std::int64_t kFirstUse = 26 << 20;
  const auto heap_of = [](std::int64_t a_step) {
    const auto held = [=](std::int64_t step) { return a_step * step + (step >= 12 ? kFirstUse : 0); };
    return Trends(run_of({Counter::heap_bytes}, held, kLeftBehind, 32, 96)).heap();
  };
  EXPECT_TRUE(heap_of(0).is_flat());
  EXPECT_FALSE(heap_of(kLeak).is_flat());
}

// It rises up to step 300, in a pass of the steps 257 to 496.
TEST(TrendsTest, TakeWhatHasRestedSinceALongRecordPassForSettled) {
  const auto heap_of = [](std::int64_t steps, const std::function<std::int64_t(std::int64_t)>& held) {
    Trace trace({}, {{Counter::heap_bytes}});
    for (std::int64_t step = 1; step <= steps; ++step) {
      const bool is_recorded = step > 256 && step <= 496;
      if (step == 257) {
        trace.add_look({});
        trace.begin_pass({.type = PassType::record, .planned_steps = 240});
      }
      if (step == 497) trace.begin_pass({.type = PassType::screen});
      const auto value = held(step) + (step > 256 ? kLeftBehind : 0);
      trace.add_boundary(std::vector<std::int64_t>{step % 8 == 0 && !is_recorded ? value : kUnread});
    }
    trace.add_look({});
    return Trends(trace).heap();
  };
  const auto filling = [](auto step) { return 1000 * std::min<std::int64_t>(step, 300); };
  EXPECT_TRUE(heap_of(1024, filling).is_flat());
  EXPECT_FALSE(heap_of(900, filling).is_flat());
  EXPECT_FALSE(heap_of(1024, [&](auto step) { return filling(step) + 500'000 * (step / 300); }).is_flat());
  EXPECT_FALSE(heap_of(1024, [](auto step) { return 1000 * step; }).is_flat());
}

// What a first pass leaves is no rule for the next one either.
TEST(TrendsTest, TakeWhatARecordPassLeavesForNoRuleOfTheNextOne) {
  Trace trace({}, {{Counter::heap_bytes}});
  for (std::int64_t step = 1; step <= 224; ++step) {
    const bool is_first = step > 64 && step <= 96;
    const bool is_second = step > 128 && step <= 160;
    if (step == 65 || step == 129) {
      trace.add_look({});
      trace.begin_pass({.type = PassType::record, .planned_steps = 32});
    }
    if (step == 97 || step == 161) trace.begin_pass({.type = PassType::screen});
    const std::int64_t left = (step > 96 ? kLeftBehind : 0) + (step > 160 ? kLeftBehind / 8 : 0);
    trace.add_boundary(std::vector<std::int64_t>{step % 8 == 0 && !is_first && !is_second ? left : kUnread});
  }
  trace.add_look({});
  EXPECT_TRUE(Trends(trace).heap().is_flat());
}

// Of 64 steps the pass takes so many that a count which is held over them looks as if it paused.
TEST(TrendsTest, TakeARecordPassOfFewStepsForNoPauseOfPythonsBlocks) {
  const SeriesKey blocks{Counter::python_blocks};
  const auto kept = [](std::int64_t a_step) { return [=](std::int64_t step) { return a_step * step; }; };
  for (const std::int64_t own : {0, 300}) {
    EXPECT_TRUE(Trends(run_of(blocks, kept(40), own, 32, 64)).of(blocks).is_growing()) << own;
    EXPECT_TRUE(Trends(run_of(blocks, kept(0), own, 32, 64)).of(blocks).is_flat()) << own;
  }
}

// An epoch ends in the record pass, too.
TEST(TrendsTest, KeepAFallOfTheStepsInTheRecordPass) {
  constexpr std::int64_t kEpoch = 88;
  static_assert(kScreened / kEpoch != (kScreened + kRecorded) / kEpoch);
  const auto trace = heap_of_run([](auto step) { return 100'000 * (step % kEpoch); }, kLeftBehind);
  const Trends trends(trace);
  EXPECT_FALSE(trends.heap().is_growing());
  EXPECT_LT(trends.heap().per_step, 10'000);
}

// A queue lets go of the tensors that were recorded, each of which has cost more, in the 24 steps after the pass.
TEST(TrendsTest, TakeWhatARecordPassLeavesForAWhileForNoStepsFall) {
  const auto heap_of = [](std::int64_t a_step) {
    const auto held = [=](std::int64_t step) {
      const auto recorded = step > 48 ? 24 - std::clamp<std::int64_t>(step - 72, 0, 24) : 0;
      return a_step * step + 2200 * recorded;
    };
    return Trends(run_of({Counter::heap_bytes}, held, kLeftBehind, 48, 128)).heap();
  };
  EXPECT_FALSE(heap_of(800).is_flat());
  EXPECT_TRUE(heap_of(0).is_flat());
}

// It is the first that ends, so that nothing fell before.
TEST(TrendsTest, KnowTheFirstEpochsEndInTheRecordPassByWhatItHadRisenBy) {
  constexpr std::int64_t kEpoch = kScreened + kRecorded / 2;
  const auto trace = heap_of_run([](auto step) { return 8192 * (step % kEpoch); }, kLeftBehind / 8);
  const Trends trends(trace);
  EXPECT_FALSE(trends.heap().is_growing());
  EXPECT_LT(trends.heap().per_step, 4096);
}

TEST(TrendsTest, KnowTheFirstEpochsEndRightAfterTheRecordPass) {
  constexpr std::int64_t kEpoch = 283;
  static_assert(kEpoch > kScreened + kRecorded);
  const auto held = [](std::int64_t step) { return 1400 * (step % kEpoch); };
  EXPECT_TRUE(Trends(run_of({Counter::heap_bytes}, held, kLeftBehind, kScreened, 1024)).heap().is_flat());
}

TEST(TrendsTest, SeeGrowthEndInTheRecordPass) {
  const Trends trends(leak_of_run(kScreened + kRecorded, kLeftBehind));
  EXPECT_FALSE(trends.heap().is_growing());
}

/// A run whose steps are of `shape_of(step)` and hold `held`, read at every eighth boundary.
Trace run_of_shapes(const std::function<std::int64_t(std::int64_t)>& shape_of,
                    const std::function<std::int64_t(std::int64_t)>& held) {
  Trace trace({}, {{Counter::heap_bytes}, {Counter::live_bytes}, {Counter::peak_bytes}});
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    const auto heap = step % 8 == 0 ? held(step) : kUnread;
    trace.add_boundary(std::vector<std::int64_t>{heap, 4096, 4096 + 64 * shape_of(step)});
  }
  trace.add_look({});
  return trace;
}

// Lengths that come again, and four in 32 steps that none had.
std::int64_t length_at(std::int64_t step) {
  const auto of_cycle = step % 32;
  return of_cycle > 8 && of_cycle <= 12 ? 1000 + step : step % 7;
}

TEST(TrendsTest, TellWhatALibraryKeepsForEachShape) {
  const auto plans_at = [](std::int64_t step) {
    return 20'000 * (4 * (step / 32) + std::clamp<std::int64_t>(step % 32 - 8, 0, 4));
  };
  EXPECT_EQ(Trends(run_of_shapes(length_at, plans_at)).decay_of({Counter::heap_bytes}), Decay::of_shapes);
}

TEST(TrendsTest, TakeNothingForPlansThatRisesWithoutNewShapes) {
  const auto decay_of = [](const auto& shape_of, const auto& held) {
    return Trends(run_of_shapes(shape_of, held)).decay_of({Counter::heap_bytes});
  };
  const auto leak = [](std::int64_t step) { return kLeak * step; };
  EXPECT_EQ(decay_of(length_at, leak), Decay::none);
  EXPECT_EQ(decay_of([](std::int64_t) { return 3; }, leak), Decay::none);
  // Where each step has a shape of its own nothing tells the one from the other.
  EXPECT_EQ(decay_of([](std::int64_t step) { return step; }, leak), Decay::none);
  // Nor do a few steps without new ones.
  const auto seldom_old = [](std::int64_t step) { return step % 96 < 80 ? step : 3; };
  EXPECT_EQ(decay_of(seldom_old,
                     [&](std::int64_t step) { return step % 96 < 80 ? leak(step) : leak(step - step % 96 + 79); }),
            Decay::none);
}

}  // namespace
}  // namespace stepleak
