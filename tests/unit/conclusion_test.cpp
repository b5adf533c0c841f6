// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// What is said beside a verdict.

#include "harness/explain/conclusion.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "detectors/detectors.hpp"
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

// A step that holds its own graph to the end, of so many nodes; of the recorded ones nothing stayed.
std::string reason_with_nodes(const std::function<std::int64_t(std::int64_t)>& nodes_at) {
  RunRecord record;
  record.trace = TraceBuilder(530)
                     .with({Counter::live_bytes}, [](auto step) { return 4 * step; })
                     .with({Counter::live_blocks}, [](auto step) { return step; })
                     .with({Counter::live_nodes}, nodes_at)
                     .recorded(18)
                     .build();
  const auto owned = all_detectors();
  std::vector<const Detector*> detectors;
  for (const auto& detector : owned) detectors.push_back(detector.get());
  return conclude(record, detectors).reason;
}

TEST(ConclusionTest, SaysWhereEachStepComputesMoreThanTheOneBefore) {
  EXPECT_NE(reason_with_nodes([](auto step) { return 2 * step; }).find("by 2 autograd nodes"), std::string::npos);
  EXPECT_EQ(reason_with_nodes([](auto) { return 40; }).find("autograd nodes"), std::string::npos);
}

}  // namespace
}  // namespace stepleak
