// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/judge/judge.hpp"

#include <gtest/gtest.h>

#include "tests/support/trace_builder.hpp"

namespace stepleak {
namespace {

using Next = Decision::Next;

constexpr SeriesKey kBefore{Counter::live_bytes, kHost, Moment::before_collection};
constexpr SeriesKey kBytes{Counter::live_bytes};
constexpr SeriesKey kNodes{Counter::live_nodes};
constexpr SeriesKey kHeap{Counter::heap_bytes};

Next next_after(std::int64_t steps, std::int64_t per_step, const Policy& policy = {}) {
  const auto trace = TraceBuilder(steps).with(kBytes, [=](auto step) { return 4096 + per_step * step; }).build();
  return decide(trace, policy).next;
}

TEST(JudgeTest, SaysCleanFromTheMinimumOnAndNotBefore) {
  EXPECT_EQ(next_after(48, 0), Next::more_steps);
  EXPECT_EQ(next_after(64, 0), Next::clean);
}

TEST(JudgeTest, SaysLeakAtFourTimesTheMinimumAndNotBefore) {
  EXPECT_EQ(next_after(128, 512), Next::more_steps);
  EXPECT_EQ(next_after(256, 512), Next::leak);
}

TEST(JudgeTest, NeedsFewerStepsWithLessEffort) {
  EXPECT_EQ(next_after(16, 0, policy_of(Effort::quick)), Next::clean);
  EXPECT_EQ(next_after(64, 512, policy_of(Effort::quick)), Next::leak);
}

TEST(JudgeTest, SaysLeakForNodesAlone) {
  const auto trace = TraceBuilder(256)
                         .with(kBytes, [](auto) { return 4096; })
                         .with(kNodes, [](auto step) { return 9 * step; })
                         .build();
  EXPECT_EQ(decide(trace, {}).next, Next::leak);
}

TEST(JudgeTest, SaysInconclusiveAtTheBudgetAndNamesTheLedger) {
  const auto trace = TraceBuilder(1024).with(kBytes, [](auto step) { return step < 1000 ? 0 : step; }).build();
  const auto decision = decide(trace, {});
  EXPECT_EQ(decision.next, Next::inconclusive);
  EXPECT_NE(decision.reason.find("live_bytes@cpu"), std::string::npos) << decision.reason;
}

TEST(JudgeTest, CountsUncollectedGarbageOnlyWhereTheCollectorIsOff) {
  auto trace =
      TraceBuilder(256).with(kBefore, [](auto) { return 8192; }).with(kBytes, [](auto) { return 4096; }).build();
  trace.collector = {.has_python = true, .is_enabled = true};
  EXPECT_EQ(decide(trace, {}).next, Next::clean);
  trace.collector.is_enabled = false;
  EXPECT_EQ(decide(trace, {}).next, Next::leak);
}

TEST(JudgeTest, LeavesALogOfNumbersOnTheHeapInPeace) {
  const auto with_heap = [](std::int64_t per_step) {
    return TraceBuilder(256)
        .with(kBytes, [](auto) { return 4096; })
        .with(kHeap, [=](auto step) { return 1000000 + per_step * step; })
        .build();
  };
  EXPECT_EQ(decide(with_heap(33), {}).next, Next::clean);
  EXPECT_EQ(decide(with_heap(1400), {}).next, Next::leak);
}

TEST(JudgeTest, KeepsTheNarrowerOfTwoFindingsForTheSameLedgers) {
  const Finding narrow{.kind = Kind::graph_retention, .accounts_for = {kNodes, kBytes}};
  const Finding wide{.kind = Kind::growth, .accounts_for = {kBytes}};
  const Finding other{.kind = Kind::host_heap, .accounts_for = {kHeap}};
  const auto kept = narrowed({narrow, wide, other});
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].kind, Kind::graph_retention);
  EXPECT_EQ(kept[1].kind, Kind::host_heap);
}

TEST(PolicyTest, LooksAtEveryDecidingStep) {
  const auto looks = Policy{}.looks();
  EXPECT_EQ(looks.front(), 8);
  EXPECT_EQ(looks.back(), 1024);
  for (const std::int64_t step : {16, 64, 96, 256}) EXPECT_TRUE(std::count(looks.begin(), looks.end(), step)) << step;
}

TEST(PolicyTest, MovesTheConfirmationWithTheBudget) {
  const auto policy = with_budget({}, 100);
  EXPECT_EQ(policy.clean_steps, 64);
  EXPECT_EQ(policy.leak_steps, 100);
  EXPECT_EQ(with_budget({}, 20).clean_steps, 20);
}

}  // namespace
}  // namespace stepleak
