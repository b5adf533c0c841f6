// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Growth of which a step in tens has an event: a record pass sees few of them, or none.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tests/support/synthetic_run.hpp"

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

}  // namespace
}  // namespace stepleak
