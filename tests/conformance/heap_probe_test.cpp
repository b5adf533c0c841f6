// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/torch/heap_probe.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/probes/fork_guard.hpp"
#include "harness/probes/step_clock.hpp"
#include "harness/probes/torch/stack_recorder.hpp"

namespace stepleak {
namespace {

constexpr std::int64_t kSteps = 8;

struct Recorded {
  Recording recording;
  std::vector<RawStack> stacks;
};

// Eight recorded steps, as an observer runs them.
Recorded record(const std::function<void()>& step, bool records_heap = true) {
  set_stack_source(StackKind::native);
  const auto stacks = std::make_shared<StackTable>();
  HeapProbe probe(stacks);
  Recorded recorded;
  auto& recording = recorded.recording;
  recording = {.pass = {.type = PassType::record, .planned_steps = kSteps, .records_heap = records_heap},
               .steps = kSteps};
  probe.begin_record(recording.pass);
  for (std::int64_t number = 1; number <= kSteps; ++number) {
    current_step = number;
    probe.record_stacks(true);
    probe.begin_step(number);
    step();
    probe.read(Moment::before_collection, {});
  }
  probe.record_stacks(false);
  probe.end_record(recording);
  stop_observing_here();
  recorded.stacks = stacks->take_stacks();
  return recorded;
}

TEST(HeapProbeTest, FindsWhatEachStepLeavesWithItsStack) {
  std::deque<std::string> log;
  const auto recorded = record([&] { log.emplace_back(300, 'x'); });
  std::int64_t bytes = 0;
  std::int64_t stacks = 0;
  for (const auto& survivor : recorded.recording.survivors) {
    EXPECT_EQ(survivor.type, SurvivorType::heap);
    if (survivor.bytes >= 300) bytes += survivor.bytes;
    EXPECT_NE(survivor.library, "");
    stacks += survivor.stack >= 0 ? 1 : 0;
  }
  // A string of 300 characters is a block of 320 with malloc's own word.
  EXPECT_EQ(bytes, kSteps * 320);
  // Of the first steps it was not known that anything stays.
  EXPECT_GE(stacks, kSteps - 3);
  ASSERT_FALSE(recorded.stacks.empty());
  EXPECT_GE(recorded.stacks.front().addresses.size(), 3U);
}

TEST(HeapProbeTest, FindsNothingWhereStepsFreeWhatTheyMadeOrKeepOneAtMost) {
  std::unique_ptr<std::string> newest;
  const auto recorded = record([&] {
    const std::vector<std::string> scratch(50, std::string(300, 'x'));
    newest = std::make_unique<std::string>(scratch.front());
  });
  EXPECT_TRUE(recorded.recording.survivors.empty());
}

TEST(HeapProbeTest, RecordsOnlyWhereThePassAsksForIt) {
  std::deque<std::string> log;
  EXPECT_TRUE(record([&] { log.emplace_back(300, 'x'); }, false).recording.survivors.empty());
}

TEST(HeapProbeTest, ForgetsWhatAnEarlierPassHasSeen) {
  std::deque<std::string> log;
  (void)record([&] { log.emplace_back(300, 'x'); });
  EXPECT_TRUE(record([] {}).recording.survivors.empty());
}

}  // namespace
}  // namespace stepleak
