// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/analyse/losses.hpp"

#include <gtest/gtest.h>

#include "tests/support/trace_builder.hpp"

namespace stepleak {
namespace {

constexpr std::int64_t kKibi = 1024;

std::vector<Loss> losses_of(const Trace& trace, const std::vector<DeviceCapacity>& capacities = {}) {
  const Trends trends(trace);
  const Recording none;
  return stepleak::losses_of({trace, trends, trace.recordings().empty() ? none : trace.recording()}, capacities);
}

TraceBuilder growing(std::int64_t live, std::int64_t heap, std::int64_t shared) {
  TraceBuilder builder(256);
  builder.with({Counter::live_bytes}, [=](auto step) { return live * step; })
      .with({Counter::heap_bytes}, [=](auto step) { return (live + heap) * step; })
      .with({Counter::shared_bytes}, [=](auto step) { return shared * step; });
  return builder;
}

TEST(LossesTest, AddWhatGraphsCopiesAndSharedMemoryTakeToTheTensors) {
  const auto losses = losses_of(growing(4, 80 * kKibi, 0).build());
  ASSERT_EQ(losses.size(), 1U);
  EXPECT_NEAR(losses.front().bytes_per_step, 4 + 80 * kKibi, kKibi);
  EXPECT_DOUBLE_EQ(losses_of(growing(0, 0, 256 * kKibi).build()).front().bytes_per_step, 256 * kKibi);
}

TEST(LossesTest, AreOfMappedMemoryWhatIsTouched) {
  const auto run = [](std::int64_t resident, std::int64_t fallen = 0) {
    TraceBuilder builder(256);
    builder.with({Counter::live_bytes}, [](auto) { return 0; })
        .with({Counter::mapped_bytes}, [](auto step) { return 256 * kKibi * step; })
        .with({Counter::resident_bytes}, [=](auto step) { return resident * step - (step > 160 ? fallen : 0); });
    return losses_of(builder.build());
  };
  EXPECT_DOUBLE_EQ(run(8 * kKibi).front().bytes_per_step, 8 * kKibi);
  EXPECT_DOUBLE_EQ(run(0).front().bytes_per_step, 256 * kKibi);
  EXPECT_LT(run(8 * kKibi, 256 * kKibi).front().bytes_per_step, 8 * kKibi);
}

TEST(LossesTest, AreOfAGpuWhatIsTakenFromTheDriverByItself) {
  constexpr Device kGpu{DeviceType::cuda, 0};
  const auto lost = [&](std::int64_t outside) {
    TraceBuilder builder(256);
    builder.with({Counter::live_bytes, kGpu}, [](auto) { return 0; })
        .with({Counter::outside_bytes, kGpu}, [=](auto step) { return outside * step; })
        .recorded(8);
    for (std::int64_t step = 249; step <= 256; ++step) {
      builder.with_survivor({.type = SurvivorType::handle,
                             .device = kGpu,
                             .birth_step = step,
                             .identity = static_cast<std::uint64_t>(step),
                             .bytes = 48 * kKibi,
                             .handle = HandleType::device_memory});
    }
    return losses_of(builder.build()).at(0).bytes_per_step;
  };
  EXPECT_DOUBLE_EQ(lost(0), 48 * kKibi);
  EXPECT_DOUBLE_EQ(lost(64 * kKibi), 64 * kKibi) << "which it is part of";
}

TEST(LossesTest, AreOfAGpuItsPrivatePoolsWhereTheRestIsReservedUnevenly) {
  constexpr Device kGpu{DeviceType::cuda, 0};
  const auto losses_with = [&](std::int64_t pools) {
    TraceBuilder builder(256);
    builder.with({Counter::live_bytes, kGpu}, [](auto) { return 0; })
        .with({Counter::reserved_bytes, kGpu},
              [=](auto step) { return pools * step + 512 * kKibi * std::min<std::int64_t>(step, 100); })
        .with({Counter::private_pool_bytes, kGpu}, [=](auto step) { return pools * step; });
    return losses_of(builder.build());
  };
  EXPECT_TRUE(losses_with(0).empty());
  EXPECT_DOUBLE_EQ(losses_with(8 * kKibi).at(0).bytes_per_step, 8 * kKibi);
}

TEST(LossesTest, AreNoneWhereNothingGrows) { EXPECT_TRUE(losses_of(growing(0, 0, 0).build()).empty()); }

TEST(LossesTest, SayWhenTheMemoryIsFullWhereItsSizeIsKnown) {
  const auto trace = growing(kKibi, 0, 0).build();
  EXPECT_EQ(losses_of(trace).front().full_after, 0);
  EXPECT_EQ(losses_of(trace, {{kHost, 3000 * kKibi, 1000 * kKibi}}).front().full_after, 2000);
}

TEST(LossesTest, AreAtLeastSoMuchWhereTheHeapIsNotKnownYet) {
  const auto loss_at = [](std::int64_t steps) {
    TraceBuilder builder(steps);
    builder.with({Counter::live_bytes}, [](auto step) { return 4 * step; }).with({Counter::heap_bytes}, [](auto step) {
      return step >= 8 && step % 4 == 0 ? step * 80 * kKibi : kUnread;
    });
    return losses_of(builder.build()).front();
  };
  EXPECT_TRUE(loss_at(16).is_least);
  EXPECT_LT(loss_at(16).bytes_per_step, kKibi);
  EXPECT_FALSE(loss_at(256).is_least);
  EXPECT_GT(loss_at(256).bytes_per_step, 70 * kKibi);
}

TEST(LossesTest, AreAtLeastSoMuchWhereTheHeapMayHideMoreBelowItsFloor) {
  EXPECT_TRUE(losses_of(growing(500, 100, 0).build()).front().is_least);
  EXPECT_FALSE(losses_of(growing(500, kKibi, 0).build()).front().is_least);
  EXPECT_FALSE(losses_of(growing(600, 100, 0).build()).front().is_least);
}

// Ten blocks a step of Python's own allocator, of which a container gained some in 18 recorded steps.
Loss loss_of_blocks(std::int64_t gained_blocks, std::int64_t gained_bytes, std::int64_t arenas = 0) {
  TraceBuilder builder(256);
  builder.with({Counter::live_bytes}, [](auto step) { return 4 * step; })
      .with({Counter::heap_bytes}, [](auto) { return 0; })
      .with({Counter::mapped_bytes}, [=](auto step) { return arenas * step; })
      .with({Counter::resident_bytes}, [=](auto step) { return arenas * step; })
      .with({Counter::python_blocks}, [](auto step) { return 10 * step; })
      .with_object({.type = "list", .name = "train.kept", .length = 40})
      .with_holder({.held = 0,
                    .container = 0,
                    .gained_blocks = 18 * gained_blocks,
                    .gained_block_bytes = 18 * gained_bytes,
                    .is_weighed = true})
      .recorded(18);
  return losses_of(builder.build()).front();
}

TEST(LossesTest, CountSmallBlocksOfPythonsAllocatorAsTheyWereWeighed) {
  EXPECT_DOUBLE_EQ(loss_of_blocks(6, 700).bytes_per_step, 4 + 700);
  EXPECT_FALSE(loss_of_blocks(6, 700).is_least);
}

TEST(LossesTest, AreAtLeastSoMuchWhereMostSuchBlocksWereNotWeighed) {
  EXPECT_DOUBLE_EQ(loss_of_blocks(4, 400).bytes_per_step, 4 + 400);
  EXPECT_TRUE(loss_of_blocks(4, 400).is_least);
  EXPECT_DOUBLE_EQ(loss_of_blocks(0, 0).bytes_per_step, 4 + 10 * 16);
  EXPECT_TRUE(loss_of_blocks(0, 0).is_least);
}

TEST(LossesTest, CountTheArenasThatSuchBlocksLieInOnce) {
  EXPECT_DOUBLE_EQ(loss_of_blocks(6, 700, 8 * kKibi).bytes_per_step, 4 + 8 * kKibi);
}

TEST(LossesTest, AreAtLeastWhatObjectsTakeThatLieWhereMallocIsNotAsked) {
  const auto loss = [](std::int64_t heap) {
    auto builder = growing(0, heap, 0);
    builder.with({Counter::python_objects}, [](auto step) { return 5 * step; });
    return losses_of(builder.build()).front();
  };
  EXPECT_DOUBLE_EQ(loss(0).bytes_per_step, 5 * 32);
  EXPECT_TRUE(loss(0).is_least);
  EXPECT_DOUBLE_EQ(loss(4 * kKibi).bytes_per_step, 4 * kKibi);
  EXPECT_FALSE(loss(4 * kKibi).is_least);
}

}  // namespace
}  // namespace stepleak
