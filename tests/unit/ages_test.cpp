// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/analyse/ages.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "tests/support/draws.hpp"
#include "tests/support/synthetic_run.hpp"

namespace stepleak {
namespace {

using Step = std::function<void(std::int64_t, SyntheticMemory&)>;
using Block = SyntheticMemory::Block;

// What a run of so many steps leaves, without sources; its looks are those of production.
Trace trace_of(const Step& step, std::int64_t steps) {
  return run_synthetic({.step = step},
                       {.sources = Sources::none, .policy = with_budget(with_minimum({}, steps), steps)})
      .trace;
}

StepRange all_of(const Trace& trace) { return {1, trace.looks().back().step}; }

// Collects `a_step` blocks a step, and drops `part` of them every so many steps; `stays` is kept for good then.
Step saw_tooth(std::int64_t teeth, std::size_t a_step, double part, bool stays = false) {
  return [=, kept = std::vector<Block>()](std::int64_t step, SyntheticMemory& memory) mutable {
    for (std::size_t i = 0; i < a_step; ++i) kept.push_back(memory.hold(64));
    if (stays && step % teeth == teeth / 2) memory.hold(64);
    if (step % teeth != 0) return;
    for (auto count = static_cast<std::size_t>(part * static_cast<double>(kept.size())); count > 0; --count) {
      memory.drop(kept.back());
      kept.pop_back();
    }
  };
}

TEST(ClearingsTest, AreWhereAListIsCleared) {
  const auto trace = trace_of(saw_tooth(20, 1, 1.0), 64);
  EXPECT_EQ(clearings_of(trace, kHost, {1, 64}), (std::vector<std::int64_t>{20, 40, 60}));
}

TEST(ClearingsTest, AreNotWhereFewBlocksComeAndGoOrAPartIsDropped) {
  EXPECT_TRUE(clearings_of(trace_of(saw_tooth(7, 1, 1.0), 64), kHost, {1, 64}).empty());
  EXPECT_TRUE(clearings_of(trace_of(saw_tooth(20, 2, 0.2), 64), kHost, {1, 64}).empty());
}

TEST(RemainderTest, IsWhatAClearingLeft) {
  const auto trace = trace_of(saw_tooth(20, 1, 1.0, true), 64);
  EXPECT_TRUE(has_remainder(trace, kHost, all_of(trace)));
}

TEST(RemainderTest, IsNotWhatHasYetToBeClearedNorWhatTheWarmUpMade) {
  const auto trace = trace_of(saw_tooth(20, 1, 1.0), 64);
  EXPECT_FALSE(has_remainder(trace, kHost, all_of(trace)));
  const auto step = [tooth = saw_tooth(20, 1, 1.0)](std::int64_t step, SyntheticMemory& memory) mutable {
    if (step < 4) memory.hold(4096);
    tooth(step, memory);
  };
  const auto warmed = trace_of(step, 64);
  EXPECT_FALSE(has_remainder(warmed, kHost, all_of(warmed)));
}

TEST(RemainderTest, IsNotWhatTheNextOneReplaces) {
  const auto step = [tooth = saw_tooth(20, 1, 1.0), newest = Block{0}](std::int64_t step,
                                                                       SyntheticMemory& memory) mutable {
    if (step % 20 == 10) memory.drop(std::exchange(newest, memory.hold(4096)));
    tooth(step, memory);
  };
  const auto trace = trace_of(step, 64);
  EXPECT_FALSE(has_remainder(trace, kHost, {1, 48}));
  EXPECT_FALSE(has_remainder(trace, kHost, {1, 64}));
}

// Gathers a block a step, drops all at one step, and goes on at another pace.
Step cleared_once(std::int64_t at, std::int64_t steps_a_block) {
  return [=, kept = std::vector<Block>()](std::int64_t step, SyntheticMemory& memory) mutable {
    if (step <= at || step % steps_a_block == 0) kept.push_back(memory.hold(64));
    if (step != at) return;
    for (const auto& block : kept) memory.drop(block);
    kept.clear();
  };
}

TEST(RemainderTest, IsNotKnownAfterOneClearingThatSomethingOutlived) {
  const auto leaking = trace_of(saw_tooth(40, 1, 1.0, true), 64);
  EXPECT_TRUE(may_have_remainder(leaking, kHost, all_of(leaking)));
  const auto clean = trace_of(saw_tooth(40, 1, 1.0), 64);
  EXPECT_FALSE(may_have_remainder(clean, kHost, all_of(clean)));
  const auto before_the_first = trace_of(saw_tooth(80, 1, 1.0, true), 64);
  EXPECT_FALSE(may_have_remainder(before_the_first, kHost, all_of(before_the_first)));
  const auto after_two = trace_of(saw_tooth(25, 1, 1.0, true), 64);
  EXPECT_FALSE(may_have_remainder(after_two, kHost, all_of(after_two)));
  EXPECT_TRUE(has_remainder(after_two, kHost, all_of(after_two)));
}

TEST(GatheringTest, GoesOnWhereAClearingWasTheOnlyOne) {
  const auto goes_on = [](const Step& step) {
    const auto trace = trace_of(step, 64);
    return is_gathering_again(trace, kHost, all_of(trace));
  };
  EXPECT_TRUE(goes_on(cleared_once(40, 1)));
  EXPECT_TRUE(goes_on(saw_tooth(40, 1, 1.0)));  // or it will be cleared again
  EXPECT_FALSE(goes_on(saw_tooth(20, 1, 1.0)));
  EXPECT_FALSE(goes_on(saw_tooth(80, 1, 1.0)));
  EXPECT_FALSE(goes_on(cleared_once(40, 1000)));
  EXPECT_FALSE(goes_on(cleared_once(40, 6)));  // of what trembles, some is gathered in each few steps
}

// As where the warm-up's losses are dropped once, and a list goes on gathering.
TEST(GatheringTest, IsALeakWhereNothingIsClearedASecondTime) {
  EXPECT_EQ(run_synthetic({.step = cleared_once(70, 1)}, {.sources = Sources::none}).verdict, Verdict::leak);
  EXPECT_EQ(run_synthetic({.step = cleared_once(70, 10'000)}, {.sources = Sources::none}).verdict, Verdict::clean);
  const auto again = run_synthetic({.step = saw_tooth(70, 1, 1.0)}, {.sources = Sources::none});
  EXPECT_EQ(again.verdict, Verdict::clean);
  EXPECT_GT(again.steps, 140);
}

// Made once at the first step, beside a list that is cleared: known to be no remainder after the second clearing.
TEST(RemainderTest, DelaysCleanToTheSecondClearing) {
  const auto step = [tooth = saw_tooth(50, 1, 1.0)](std::int64_t step, SyntheticMemory& memory) mutable {
    if (step == 2) memory.hold(4096);
    tooth(step, memory);
  };
  const auto run = run_synthetic({.step = step}, {.sources = Sources::none});
  EXPECT_EQ(run.verdict, Verdict::clean);
  EXPECT_GT(run.steps, 100);
  EXPECT_LE(run.steps, 192);
  const auto leaking = run_synthetic({.step = saw_tooth(50, 1, 1.0, true)}, {.sources = Sources::none});
  EXPECT_EQ(leaking.verdict, Verdict::leak);
}

// The latest twelve outlive each clearing, and take the place of the twelve before.
TEST(RemainderTest, IsNotWhatACacheOfTheLatestKeeps) {
  const auto step = [kept = std::deque<Block>()](std::int64_t step, SyntheticMemory& memory) mutable {
    kept.push_back(memory.hold(4096));
    while (step % 40 == 0 && kept.size() > 12) {
      memory.drop(kept.front());
      kept.pop_front();
    }
  };
  const auto trace = trace_of(step, 96);
  ASSERT_EQ(clearings_of(trace, kHost, {1, 96}).size(), 2U);
  EXPECT_FALSE(has_remainder(trace, kHost, {1, 96}));
}

// Blocks that stay for 60 to 120 steps.
Step long_requests() {
  return [draws = Draws(3), open = std::multimap<std::int64_t, Block>()](std::int64_t step,
                                                                         SyntheticMemory& memory) mutable {
    while (!open.empty() && open.begin()->first <= step) {
      memory.drop(open.begin()->second);
      open.erase(open.begin());
    }
    open.emplace(step + draws.between(60, 120), memory.hold(64));
  };
}

TEST(OldBlocksTest, DieWhereRequestsStayForLong) {
  const auto trace = trace_of(long_requests(), 256);
  EXPECT_TRUE(are_old_dying(trace, kHost, {1, 256}));
  EXPECT_TRUE(is_any_old_dying(trace, kHost, {1, 256}));
}

TEST(OldBlocksTest, DieWhereOneInTenOfThemLeaves) {
  const auto step = [kept = std::vector<Block>()](std::int64_t step, SyntheticMemory& memory) mutable {
    kept.push_back(memory.hold(64));
    if (step % 10 != 0) return;
    memory.drop(kept.front());
    kept.erase(kept.begin());
  };
  const auto trace = trace_of(step, 256);
  EXPECT_TRUE(is_any_old_dying(trace, kHost, {1, 256}));
  EXPECT_FALSE(are_old_dying(trace, kHost, {1, 256}));
}

TEST(OldBlocksTest, DoNotDieWhereAllOfThemLeakBesideABatch) {
  const auto step = [last = Block{0}](std::int64_t, SyntheticMemory& memory) mutable {
    memory.keep(64);
    memory.drop(std::exchange(last, memory.hold(1 << 20)));
  };
  const auto trace = trace_of(step, 256);
  EXPECT_FALSE(are_old_dying(trace, kHost, {1, 256}));
  EXPECT_FALSE(is_any_old_dying(trace, kHost, {1, 256}));
}

// A dictionary that is asked for one of `keys`, or for a new one each time.
Result run_keyed(std::int64_t keys, Effort effort = Effort::standard) {
  const auto step = [=, draws = Draws(5), known = std::map<std::int64_t, Block>()](std::int64_t step,
                                                                                   SyntheticMemory& memory) mutable {
    const auto key = keys == 0 ? step : draws.between(1, keys);
    if (!known.contains(key)) known[key] = memory.keep(512);
  };
  return run_synthetic({.step = step, .structure = {.type = StructureType::keyed}}, {.policy = policy_of(effort)});
}

TEST(KeyedContainerTest, IsUndecidedWhereKeysRepeat) { EXPECT_EQ(run_keyed(600).verdict, Verdict::inconclusive); }

TEST(KeyedContainerTest, IsUndecidedWhereTheBudgetIsShorterThanADataSet) {
  EXPECT_EQ(run_keyed(0, Effort::quick).verdict, Verdict::inconclusive);
}

TEST(KeyedContainerTest, IsALeakWhereNoKeyRepeatedInAllOfTheBudget) { EXPECT_EQ(run_keyed(0).verdict, Verdict::leak); }

// Of requests that are dropped now and then before they are put in.
TEST(KeyedContainerTest, IsALeakWhereStepsThatLeaveNothingAskForNothing) {
  const auto verdict_with = [](bool has_new_keys_only) {
    const auto step = [draws = Draws(5)](std::int64_t, SyntheticMemory& memory) mutable {
      if (draws.between(1, 4) > 1) memory.keep(512);
    };
    return run_synthetic(
               {.step = step, .structure = {.type = StructureType::keyed}, .has_new_keys_only = has_new_keys_only})
        .verdict;
  };
  EXPECT_EQ(verdict_with(true), Verdict::leak);
  EXPECT_EQ(verdict_with(false), Verdict::inconclusive);
}

}  // namespace
}  // namespace stepleak
