// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// What is said beside a verdict.

#include "harness/explain/conclusion.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/support/trace_builder.hpp"

namespace stepleak {
namespace {

Result concluded(const std::function<std::int64_t(std::int64_t)>& heap_at) {
  RunRecord record;
  record.trace = TraceBuilder(64)
                     .with({Counter::live_bytes}, [](auto) { return 4096; })
                     .with({Counter::heap_bytes}, [&](auto step) { return (1 << 20) + heap_at(step); })
                     .build();
  record.trace.add_look({});
  return conclude(record, {});
}

TEST(ConclusionTest, SaysOfACleanStepThatItsHeapRisesByLessThanALeak) {
  const auto result = concluded([](auto step) { return 288 * step; });
  EXPECT_EQ(result.verdict, Verdict::clean);
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_EQ(result.notes[0], "the host heap rises by 288 B a step, too light to be called a leak: a log?");
}

TEST(ConclusionTest, SaysNothingOfNoiseAndOfWhatFills) {
  EXPECT_TRUE(concluded([](auto step) { return 100 * step; }).notes.empty());
  EXPECT_TRUE(concluded([](auto step) { return 288 * (step % 5); }).notes.empty());
  EXPECT_TRUE(concluded([](auto step) { return 288 * std::min<std::int64_t>(step, 30); }).notes.empty());
}

}  // namespace
}  // namespace stepleak
