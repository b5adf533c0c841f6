// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Growth of which a step in tens has an event: a record pass sees few of them, or none.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "detectors/host_heap/host_heap_detector.hpp"
#include "tests/support/analysed.hpp"
#include "tests/support/synthetic_run.hpp"
#include "tests/support/trace_builder.hpp"

namespace stepleak {
namespace {

// A parameter with its gradient and two moments of Adam's.
constexpr int kBlocks = 4;
constexpr std::int64_t kBlockBytes = 4096;

Result run_with(const std::function<bool(std::int64_t)>& is_event, const Structure& structure = {}) {
  const auto step = [=](std::int64_t step, SyntheticMemory& memory) {
    for (int i = 0; i < kBlocks && is_event(step); ++i) memory.keep(kBlockBytes);
  };
  return run_synthetic({.step = step, .structure = structure});
}

// The blocks of an embedding for a vocabulary that meets ever fewer new words: four windows still rise alike at step
// 256.
TEST(RareGrowthTest, IsNoLeakWhereFarLessStaysOfTheRecordedSteps) {
  constexpr std::array<std::int64_t, 10> kEvents{3, 12, 29, 48, 77, 111, 150, 198, 255, 308};
  const auto is_in_table = [&](std::int64_t step) {
    return std::find(kEvents.begin(), kEvents.end(), step) != kEvents.end();
  };
  const auto filled = run_with(is_in_table);
  EXPECT_EQ(filled.verdict, Verdict::clean) << filled.reason;
  const auto leaking = run_with([&](std::int64_t step) { return is_in_table(step) || (step > 308 && step % 50 == 0); });
  EXPECT_EQ(leaking.verdict, Verdict::leak) << leaking.reason;
}

// One that is waited for until the budget ends is recorded for a whole period once more.
TEST(RareGrowthTest, NamesWhatKeepsALeakOfEveryFiftiethStep) {
  const auto result = run_with([](std::int64_t step) { return step % 50 == 0; }, {.type = StructureType::keyed});
  EXPECT_EQ(result.verdict, Verdict::leak) << result.reason;
  ASSERT_FALSE(result.findings.empty());
  EXPECT_GE(result.findings.front().kept_count, 2);
  EXPECT_FALSE(result.findings.front().holder.empty());
}

// Modules that are made now and then, beside a heap that rises: of either the recorded steps had nothing.
TEST(RareGrowthTest, LeavesAHeapInPeaceOfWhichNothingWasSeenBesideTensorsThatFill) {
  const auto outcome_with = [](bool is_filling) {
    constexpr std::array<std::int64_t, 18> kMade{20,  45,  70,  110, 140, 166, 205, 238, 266,
                                                 290, 330, 352, 380, 421, 441, 474, 500, 508};
    const auto made = [=](std::int64_t step) {
      return std::upper_bound(kMade.begin(), kMade.end(), step) - kMade.begin();
    };
    TraceBuilder builder(530);
    builder.with({Counter::live_bytes}, [=](auto step) { return 4096 + 9216 * (is_filling ? made(step) : 0); })
        .with({Counter::live_blocks}, [=](auto step) { return 40 + (is_filling ? 4 * made(step) : 0); })
        .with({Counter::heap_bytes},
              [=](auto step) { return (1 << 20) + 9216 * (is_filling ? made(step) : 0) + 800 * step; })
        .recorded(18);
    return Analysed(builder.build()).outcome(HostHeapDetector()).type;
  };
  EXPECT_EQ(outcome_with(true), RecordOutcome::Type::contradicted);
  EXPECT_EQ(outcome_with(false), RecordOutcome::Type::open);
}

}  // namespace
}  // namespace stepleak
