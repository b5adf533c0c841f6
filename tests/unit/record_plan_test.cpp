// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/analyse/record_plan.hpp"

#include <gtest/gtest.h>

#include "tests/support/trace_builder.hpp"

namespace stepleak {
namespace {

constexpr std::int64_t kSteps = 256;
constexpr std::int64_t kRoom = 700;

Pass planned(const std::function<std::int64_t(std::int64_t)>& blocks, std::int64_t stride = 1) {
  const auto trace = TraceBuilder(kSteps)
                         .with({Counter::live_bytes}, [&](auto step) { return 64 * blocks(step); })
                         .with({Counter::live_blocks}, blocks)
                         .build();
  return plan_record(trace, Trends(trace), kHost, stride, kRoom);
}

TEST(RecordPlanTest, IsShortForALeakOfEachStep) {
  const auto pass = planned([](auto step) { return 8 + step; });
  EXPECT_EQ(pass.planned_steps, kShortestRecord);
  EXPECT_EQ(pass.young_steps, 2);
}

// A curriculum: each twenty steps the sequences are longer, and with them the graph that is alive at a boundary.
TEST(RecordPlanTest, SeesTwiceWhatAGraphGetsLongerBy) {
  const auto planned_for = [](std::int64_t stretch) {
    const auto trace = TraceBuilder(kSteps)
                           .with({Counter::live_blocks}, [](auto) { return 8; })
                           .with({Counter::live_nodes}, [&](auto step) { return 100 + 28 * (step / stretch); })
                           .build();
    return plan_record(trace, Trends(trace), kHost, 1, kRoom).planned_steps;
  };
  EXPECT_EQ(planned_for(1), kShortestRecord);
  EXPECT_GE(planned_for(20), 2 * 20);
}

TEST(RecordPlanTest, RecordsTheHeapWhereItGrows) {
  const auto records_heap = [](std::int64_t per_step) {
    const auto trace = TraceBuilder(kSteps)
                           .with({Counter::live_blocks}, [](auto step) { return 8 + step; })
                           .with({Counter::heap_bytes}, [&](auto step) { return 1000000 + per_step * step; })
                           .build();
    return plan_record(trace, Trends(trace), kHost, 1, kRoom).records_heap;
  };
  EXPECT_TRUE(records_heap(2048));
  EXPECT_FALSE(records_heap(0));
}

TEST(RecordPlanTest, RecordsTheHeapAloneForLongerWhereNoContainerCanTell) {
  const auto planned_steps = [](bool has_python) {
    TraceBuilder builder(kSteps);
    builder.with({Counter::live_blocks}, [](auto) { return 8; });
    builder.with({Counter::heap_bytes}, [](auto step) { return 1000000 + 2048 * step; });
    if (has_python) builder.with_collector(true);
    const auto trace = builder.build();
    return plan_record(trace, Trends(trace), kHost, 1, kRoom).planned_steps;
  };
  EXPECT_EQ(planned_steps(true), kShortestRecord);
  EXPECT_GT(planned_steps(false), 3 * 7);  // a leak of every seventh step comes three times
}

TEST(RecordPlanTest, SpansTwoTasksWhereEachKeepsMoreThanItFreesOfTheLastOne) {
  // Each task of 20 steps begins with a layer that stays, and with an optimizer whose state takes the last one's place.
  const auto pass = planned([](auto step) { return 8 + 2 * (step / 20); });
  EXPECT_GE(pass.planned_steps, 42);
  EXPECT_EQ(pass.young_steps, 21);
}

TEST(RecordPlanTest, SpansTheLongestOfTrialsThatRepeatNever) {
  // Trials of 10, 20 and 30 steps.
  const auto pass = planned([](auto step) {
    const std::int64_t in_turn = step % 120;
    return 8 + 4 * (7 * (step / 120) + (in_turn >= 10) + (in_turn >= 40) + (in_turn >= 60) + (in_turn >= 70) +
                    (in_turn >= 80) + (in_turn >= 100));
  });
  EXPECT_GE(pass.planned_steps, 62);
  EXPECT_EQ(pass.young_steps, 31);
}

// Two blocks and some nodes of every 25th step; on a GPU nobody counts nodes but the record pass.
TEST(RecordPlanTest, SeesThreeEventsWhereNodesAreNotCounted) {
  const auto planned_steps = [](bool are_nodes_counted) {
    TraceBuilder builder(kSteps);
    builder.with({Counter::live_blocks}, [](auto step) { return 8 + 2 * (step / 25); });
    if (are_nodes_counted) builder.with({Counter::live_nodes}, [](auto) { return 40; });
    const auto trace = builder.build();
    const auto pass = plan_record(trace, Trends(trace), kHost, 1, kRoom);
    return pass.planned_steps - pass.young_steps;
  };
  EXPECT_EQ(planned_steps(true), 2 * 25);
  EXPECT_EQ(planned_steps(false), 3 * 25);
}

TEST(RecordPlanTest, KeepsTheStrideOfALeakOfEachStep) {
  const auto pass = planned([](auto step) { return 8 + step; }, 7);
  EXPECT_EQ(pass.stride, 7);
  EXPECT_EQ(pass.planned_steps, 29);
}

// The blocks of a GPU and of the host beside it, which the same step fills.
Pass planned_on_gpu(const std::function<std::int64_t(std::int64_t)>& device_blocks,
                    const std::function<std::int64_t(std::int64_t)>& host_blocks) {
  const auto trace = TraceBuilder(kSteps)
                         .with({Counter::live_blocks, {DeviceType::cuda, 0}}, device_blocks)
                         .with({Counter::live_blocks}, host_blocks)
                         .build();
  return plan_record(trace, Trends(trace), {DeviceType::cuda, 0}, 7, kRoom);
}

std::int64_t steady(std::int64_t) { return 8; }
std::int64_t of_each_step(std::int64_t step) { return 8 + step; }
std::int64_t of_each_task(std::int64_t step) { return 8 + step / 20; }

TEST(RecordPlanTest, SpansTheTasksOfWhatLeaksOnTheHostOfAGpu) {
  EXPECT_GE(planned_on_gpu(steady, of_each_task).planned_steps, 80 + 21);
  EXPECT_EQ(planned_on_gpu(steady, of_each_task).young_steps, 21);
  EXPECT_EQ(planned_on_gpu(steady, of_each_task).planned_steps, planned_on_gpu(of_each_task, steady).planned_steps);
}

TEST(RecordPlanTest, KeepsTheStrideOnlyWhereAllThatGrowsGrowsInEachStep) {
  EXPECT_EQ(planned_on_gpu(of_each_step, steady).stride, 7);
  EXPECT_EQ(planned_on_gpu(of_each_step, of_each_step).stride, 7);
  EXPECT_EQ(planned_on_gpu(of_each_step, of_each_task).stride, 1);
  EXPECT_GE(planned_on_gpu(of_each_step, of_each_task).planned_steps, 80 + 21);
}

TEST(RecordPlanTest, CallsNoRestWhatMovesOnceOnly) {
  EXPECT_EQ(longest_rest({1, 1, 1, 1, 1, 2, 2, 2}), 1);
  EXPECT_EQ(longest_rest({1, 1, 1, 1, 1, 1, 2, 2, 2, 3}), 3);
  EXPECT_EQ(longest_rest({1, 2, 3, 4, 5, 6, 7, 8}), 1);
}

}  // namespace
}  // namespace stepleak
