// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Streams, events, graphs and small raw allocations, which are counted from some steps before the first verdict on.

#include <gtest/gtest.h>

#include <cmath>

#include "detectors/raw_cuda/raw_cuda_detector.hpp"
#include "tests/support/analysed.hpp"
#include "tests/support/trace_builder.hpp"

namespace stepleak {
namespace {

using Next = Decision::Next;

constexpr Device kGpu{DeviceType::cuda, 0};
constexpr SeriesKey kObjects{Counter::cuda_objects, kGpu};
constexpr std::int64_t kFirstCounted = 57;
constexpr std::int64_t kRecorded = 18;

// A step that keeps no tensor on a GPU.
TraceBuilder on_gpu(std::int64_t steps) {
  TraceBuilder builder(steps);
  builder.with({Counter::live_bytes, kGpu}, [](auto) { return 4096; })
      .with({Counter::reserved_bytes, kGpu}, [](auto) { return 1 << 21; })
      .with({Counter::outside_bytes, kGpu}, [](auto) { return 1 << 29; })
      .with({Counter::heap_bytes}, [](auto) { return 1 << 20; });
  return builder;
}

TraceBuilder counting(std::int64_t steps, const std::function<std::int64_t(std::int64_t)>& objects) {
  return on_gpu(steps).with(kObjects, [=](auto step) { return step < kFirstCounted ? kUnread : objects(step); });
}

Decision decision_after(std::int64_t steps, const std::function<std::int64_t(std::int64_t)>& objects) {
  return Analysed(counting(steps, objects).build()).decision();
}

TEST(CudaObjectsTest, AreCleanAtTheMinimumWhereNoneStays) {
  const auto decision = decision_after(64, [](auto) { return 3; });
  EXPECT_EQ(decision.next, Next::clean);
  EXPECT_EQ(decision.limit.floors.at({Counter::cuda_objects, kGpu}), 0.125);
}

TEST(CudaObjectsTest, AreNoPartOfALimitWhereTheyAreNotCounted) {
  for (const bool is_blocked : {false, true}) {
    auto builder = on_gpu(64);
    if (is_blocked) builder.with(kObjects, [](auto) { return kUnread; });
    const auto decision = Analysed(builder.build()).decision();
    EXPECT_EQ(decision.next, Next::clean);
    EXPECT_FALSE(decision.limit.floors.contains({Counter::cuda_objects, kGpu}));
  }
}

TEST(CudaObjectsTest, AreRecordedWhereOneStaysOfEachStep) {
  const auto decision = decision_after(64, [](auto step) { return step; });
  EXPECT_EQ(decision.next, Next::leak);
  EXPECT_TRUE(decision.needs_proof);
}

TEST(CudaObjectsTest, AreALeakWhereTheyGrowForLongEnough) {
  for (const std::int64_t period : {1, 3, 7}) {
    const auto decision = decision_after(256, [=](auto step) { return step / period; });
    EXPECT_EQ(decision.next, Next::leak) << period;
    EXPECT_FALSE(decision.needs_proof) << period;
  }
}

TEST(CudaObjectsTest, AreAPoolThatFillsWhereOneComesNowAndThen) {
  EXPECT_EQ(decision_after(256, [](auto step) { return step / 20; }).next, Next::clean);
}

TEST(CudaObjectsTest, AreCleanWhereARingHasFilled) {
  EXPECT_EQ(decision_after(256, [](auto step) { return std::min<std::int64_t>(step, 90); }).next, Next::clean);
}

// A plan, and 2 MiB now and then, for each of 200 lengths that come at random.
TEST(CudaObjectsTest, AreCleanWhereTheyComeEverMoreSlowlyWithTheMemoryThatTheyTake) {
  const auto met = [](auto step) { return static_cast<std::int64_t>(200 * (1 - std::exp(-step / 200.0))); };
  auto builder = counting(512, [=](auto step) { return 2 * met(step); });
  builder.with({Counter::outside_bytes, kGpu},
               [=](auto step) { return step % 16 == 0 ? (met(step) / 4) << 21 : kUnread; });
  EXPECT_EQ(Analysed(builder.build()).decision().next, Next::clean);
}

TEST(CudaObjectsTest, LeaveAHeapInPeaceThatRisesAsTheirCountingBegins) {
  auto builder = counting(64, [](auto) { return 0; });
  builder.with({Counter::heap_bytes}, [](auto step) {
    return step % 8 != 0 ? kUnread : step < kFirstCounted ? 1 << 20 : 20 << 20;
  });
  EXPECT_EQ(Analysed(builder.build()).decision().next, Next::clean);
}

TEST(CudaObjectsTest, DoNotHideAHeapThatGoesOnRising) {
  auto builder = counting(512, [](auto) { return 0; });
  builder.with({Counter::heap_bytes},
               [](auto step) { return step % 8 != 0 ? kUnread : 2048 * step + (step < kFirstCounted ? 0 : 20 << 20); });
  EXPECT_EQ(Analysed(builder.build()).decision().next, Next::leak);
}

TEST(CudaObjectsTest, AreNoSteadyLevel) {
  const auto trace = counting(64, [](auto) { return 3; }).build();
  EXPECT_FALSE(steady_levels(trace, {1, 64}).contains("cuda_objects@cuda:0"));
}

// One event of each recorded step, and a list that gained so many of torch's.
Analysed recorded_events(std::int64_t gained) {
  auto builder = counting(kFirstCounted + 99, [](auto step) { return step; });
  builder.recorded(kRecorded);
  for (std::int64_t i = 0; i < kRecorded; ++i) {
    builder.with_survivor({.type = SurvivorType::handle,
                           .device = kGpu,
                           .birth_step = kFirstCounted + 99 - i,
                           .identity = static_cast<std::uint64_t>(i + 1),
                           .handle = HandleType::event});
  }
  builder.with_object({.type = "list", .name = "train.events", .length = 100})
      .with_holder(
          {.held = 0, .container = 0, .structure = {.type = StructureType::unbounded}, .gained_cuda_objects = gained});
  return Analysed(builder.build());
}

TEST(RawCudaDetectorTest, NamesTheContainerThatGainedTheObjects) {
  const auto run = recorded_events(kRecorded);
  const auto findings = run.findings(RawCudaDetector());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.front().counted, Counted::cuda_objects);
  EXPECT_NE(findings.front().what.find("1 event of every step"), std::string::npos) << findings.front().what;
  EXPECT_EQ(findings.front().holder, "train.events (list, len 100)");
  EXPECT_EQ(run.outcome(RawCudaDetector()).type, RecordOutcome::Type::proven);
}

// Raw memory of each `every`-th recorded step.
Analysed recorded_memory(std::int64_t every) {
  auto builder = counting(kFirstCounted + 99, [](auto step) { return step; });
  builder.recorded(kRecorded);
  for (std::int64_t i = 0; i < kRecorded; i += every) {
    builder.with_survivor({.type = SurvivorType::handle,
                           .device = kGpu,
                           .birth_step = kFirstCounted + 99 - i,
                           .identity = static_cast<std::uint64_t>(i + 1),
                           .bytes = 48 << 10,
                           .handle = HandleType::device_memory});
  }
  return Analysed(builder.build());
}

TEST(RawCudaDetectorTest, WeighsMemoryThatTheDriversAccountIsTooCoarseFor) {
  EXPECT_DOUBLE_EQ(recorded_memory(1).findings(RawCudaDetector()).at(0).bytes_per_step, 48 << 10);
  EXPECT_DOUBLE_EQ(recorded_memory(3).findings(RawCudaDetector()).at(0).bytes_per_step, 0);
  EXPECT_DOUBLE_EQ(recorded_events(kRecorded).findings(RawCudaDetector()).at(0).bytes_per_step, 0);
}

TEST(RawCudaDetectorTest, NamesObjectsOfTheGpuThatGrows) {
  constexpr Device kOther{DeviceType::cuda, 1};
  auto builder = counting(156, [](auto step) { return step; });
  builder.with({Counter::live_bytes, kOther}, [](auto) { return 4096; }).recorded(kRecorded);
  for (std::int64_t step = 139; step <= 156; ++step) {
    builder.with_survivor(
        {.type = SurvivorType::handle, .device = kGpu, .birth_step = step, .handle = HandleType::stream});
    builder.with_survivor(
        {.type = SurvivorType::handle, .device = kOther, .birth_step = step, .handle = HandleType::event});
  }
  const auto findings = Analysed(builder.build()).findings(RawCudaDetector());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.front().device, kGpu);
  EXPECT_EQ(findings.front().what, "never destroyed: 1 stream of every step");
}

TEST(RawCudaDetectorTest, NamesNoContainerThatGainedOnlyFewOfThem) {
  const auto run = recorded_events(kRecorded / 3);
  const auto findings = run.findings(RawCudaDetector());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.front().holder, "");
  EXPECT_EQ(run.outcome(RawCudaDetector()).type, RecordOutcome::Type::open);
}

}  // namespace
}  // namespace stepleak
