// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// What libraries keep for each shape that they meet, and the allocator for each stream; and what is left through them
// in each step.

#include <gtest/gtest.h>

#include "detectors/fragmentation_drift/fragmentation_drift_detector.hpp"
#include "detectors/host_heap/host_heap_detector.hpp"
#include "detectors/raw_cuda/raw_cuda_detector.hpp"
#include "harness/trace/collective_recorder.hpp"
#include "tests/support/analysed.hpp"
#include "tests/support/draws.hpp"
#include "tests/support/trace_builder.hpp"

namespace stepleak {
namespace {

using Type = RecordOutcome::Type;
using PerStep = std::function<std::int64_t(std::int64_t)>;

constexpr Device kGpu{DeviceType::cuda, 0};
constexpr std::int64_t kSteps = 512;
constexpr std::int64_t kRecorded = 18;
constexpr std::int64_t kKiBi = 1024;

PerStep now_and_then() {
  return [draws = Draws(1)](std::int64_t) mutable { return draws.between(0, 3); };
}

PerStep alike() {
  return [](std::int64_t) { return 1; };
}

void keep(TraceBuilder& builder, const PerStep& count, const Survivor& survivor) {
  for (std::int64_t step = kSteps - kRecorded + 1; step <= kSteps; ++step) {
    auto kept = survivor;
    kept.birth_step = step;
    const auto copies = count(step);
    kept.bytes = kept.storage_bytes = survivor.bytes * copies;
    if (survivor.type == SurvivorType::heap && copies > 0) builder.with_survivor(kept);
    for (std::int64_t i = 0; survivor.type == SurvivorType::handle && i < copies; ++i) builder.with_survivor(kept);
  }
}

RecordOutcome heap_outcome(const std::string& library, const PerStep& count, const PerStep& computed = alike(),
                           std::int64_t bytes = kKiBi) {
  TraceBuilder builder(kSteps);
  builder.with({Counter::live_bytes}, [](auto) { return 4096; })
      .with({Counter::peak_bytes}, [=](auto step) { return 8192 + computed(step); })
      .with({Counter::heap_bytes}, [=](auto step) { return bytes * step; })
      .recorded(kRecorded)
      .with_stack({});
  keep(builder, count, {.type = SurvivorType::heap, .bytes = bytes, .library = library, .stack = 0});
  return Analysed(builder.build()).outcome(HostHeapDetector());
}

TEST(LibraryCacheTest, IsWhatALibraryKeepsNowAndThen) {
  const auto outcome = heap_outcome("libcudnn_graph.so.9", now_and_then());
  EXPECT_EQ(outcome.type, Type::caching);
  EXPECT_EQ(outcome.holder, "libcudnn_graph.so.9");
}

TEST(LibraryCacheTest, IsNotWhatEachStepLeavesAlike) {
  EXPECT_EQ(heap_outcome("libcudnn_graph.so.9", alike()).type, Type::open);
}

// cudaHostAlloc in each step: the driver's own table takes some bytes more or less.
TEST(LibraryCacheTest, IsNotWhatEachStepLeavesNearlyAlikeWhereAllComputeTheSame) {
  const std::string driver = "libcuda.so.1";
  const auto nearly = [](std::int64_t step) { return 32 + step % 4; };
  EXPECT_EQ(heap_outcome(driver, nearly).type, Type::open);
  const auto one_differs = [](std::int64_t step) { return step == kSteps - 5 ? 2 : 1; };
  EXPECT_EQ(heap_outcome(driver, nearly, one_differs).type, Type::caching);
  const auto by_the_half = [](std::int64_t step) { return 32 + 8 * (step % 4); };
  EXPECT_EQ(heap_outcome(driver, by_the_half).type, Type::caching);
  const auto all_but_one = [](std::int64_t step) { return step == kSteps - 5 ? 0 : 32 + step % 4; };
  EXPECT_EQ(heap_outcome(driver, all_but_one).type, Type::caching);
}

TEST(LibraryCacheTest, IsWhatTorchRecordsOfCollectivesAsLongAsThatMayGoOn) {
  const std::string recorder(kCollectiveRecorder);
  EXPECT_EQ(heap_outcome(recorder, alike()).type, Type::caching);
  EXPECT_EQ(heap_outcome(recorder, alike(), alike(), 16 * kKiBi).type, Type::open);
}

TEST(LibraryCacheTest, IsAPlanOfTheSameSizeForTheShapeOfEachStep) {
  const auto shapes = [](std::int64_t step) { return 64 * (step * 37 % 101); };
  EXPECT_EQ(heap_outcome("libcudnn_graph.so.9", alike(), shapes).type, Type::caching);
  EXPECT_EQ(heap_outcome("libdecoder.so.1", alike(), shapes).type, Type::open);
}

TEST(LibraryCacheTest, IsNotWhatAUsersLibraryKeeps) {
  EXPECT_EQ(heap_outcome("libdecoder.so.1", now_and_then()).type, Type::open);
  EXPECT_EQ(heap_outcome("", now_and_then()).type, Type::open);
}

RecordOutcome object_outcome(const Survivor& kept, const PerStep& count) {
  std::int64_t objects = 0;
  TraceBuilder builder(kSteps);
  builder.with({Counter::live_bytes, kGpu}, [](auto) { return 4096; })
      .with({Counter::cuda_objects, kGpu}, [=](auto step) mutable { return objects += count(step); })
      .recorded(kRecorded);
  keep(builder, count, kept);
  return Analysed(builder.build()).outcome(RawCudaDetector());
}

Survivor handle(HandleType type, const std::string& library) {
  return {.type = SurvivorType::handle, .device = kGpu, .handle = type, .library = library};
}

TEST(LibraryCacheTest, IsCodeThatIsLoadedNowAndThen) {
  EXPECT_EQ(object_outcome(handle(HandleType::module, "libtorch_cuda.so"), now_and_then()).type, Type::caching);
}

TEST(LibraryCacheTest, IsNotCodeThatEachStepLoads) {
  EXPECT_EQ(object_outcome(handle(HandleType::module, "libtorch_cuda.so"), alike()).type, Type::open);
}

TEST(LibraryCacheTest, IsRawMemoryThatALibraryTakesNowAndThen) {
  EXPECT_EQ(object_outcome(handle(HandleType::device_memory, "libcufft.so.12"), now_and_then()).type, Type::caching);
  EXPECT_EQ(object_outcome(handle(HandleType::device_memory, "libdecoder.so.1"), now_and_then()).type, Type::open);
}

// Two segments are taken in the recorded steps, one of which is the second that its stream gets where `is_second`.
RecordOutcome reserved_outcome(bool is_second) {
  TraceBuilder builder(kSteps);
  builder.with({Counter::live_bytes, kGpu}, [](auto) { return 4096; })
      .with({Counter::active_bytes, kGpu}, [](auto) { return 4096; })
      .with({Counter::reserved_bytes, kGpu}, [](auto step) { return 2 * kKiBi * kKiBi * (1 + step / 8); })
      .recorded(kRecorded);
  for (const auto type : {HandleType::first_segment, is_second ? HandleType::segment : HandleType::first_segment}) {
    auto segment = handle(type, "");
    segment.birth_step = kSteps - kRecorded + 8;
    builder.with_survivor(segment);
  }
  return Analysed(builder.build()).outcome(FragmentationDriftDetector());
}

TEST(LibraryCacheTest, IsWhatTheAllocatorReservesForStreamsThatHadNothing) {
  EXPECT_EQ(reserved_outcome(false).type, Type::spreading);
  EXPECT_EQ(reserved_outcome(true).type, Type::open);
}

}  // namespace
}  // namespace stepleak
