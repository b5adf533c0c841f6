// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// What is said beside a verdict.

#include "harness/explain/conclusion.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "detectors/detectors.hpp"
#include "tests/support/trace_builder.hpp"

namespace stepleak {
namespace {

Result concluded(const std::function<std::int64_t(std::int64_t)>& heap_at, std::int64_t steps = 256) {
  RunRecord record;
  record.trace = TraceBuilder(steps)
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

// Of a step that keeps `kept` blocks for good, the newest `held` aside, and frees as many.
std::vector<std::string> notes_of_exchange(std::int64_t kept, std::int64_t held) {
  RunRecord record;
  record.trace = TraceBuilder(64)
                     .with({Counter::live_bytes}, [](auto) { return 512 * 300; })
                     .with({Counter::live_blocks}, [](auto) { return 300; })
                     .build();
  CohortTable table{.at_step = 64};
  for (std::int64_t step = 65 - held; step <= 64; ++step) {
    table.cohorts.push_back({.birth_step = step, .bytes = 512 * kept, .blocks = kept});
  }
  record.trace.add_look({table});
  return conclude(record, {}).notes;
}

TEST(ConclusionTest, SaysWhereWhatTheSetUpMadeMayHideWhatStays) {
  const auto notes = notes_of_exchange(1, 64);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(notes[0].starts_with("on cpu the steps leave a block each or more, and 63 that were there before"));
  EXPECT_TRUE(notes_of_exchange(1, 16).empty());  // a buffer that was full after 16 steps
  EXPECT_TRUE(notes_of_exchange(0, 64).empty());
}

TEST(ConclusionTest, SaysNothingOfNoiseAndOfWhatFills) {
  EXPECT_TRUE(concluded([](auto step) { return 288 * step; }, 64).notes.empty());  // as a process warms up
  EXPECT_TRUE(concluded([](auto step) { return 100 * step; }).notes.empty());
  EXPECT_TRUE(concluded([](auto step) { return 288 * (step % 5); }).notes.empty());
  EXPECT_TRUE(concluded([](auto step) { return 288 * std::min<std::int64_t>(step, 30); }).notes.empty());
}

// Keeps 1 MiB a step up to step 160, and runs out of memory in the next one; steps 33 to 50 were recorded, or none was.
Result ran_out(bool is_recorded, std::int64_t kept_from) {
  const auto bytes_at = [=](std::int64_t step) {
    return 4096 + std::max<std::int64_t>(0, step - kept_from) * (1 << 20);
  };
  const auto blocks_at = [=](std::int64_t step) { return 4 + std::max<std::int64_t>(0, step - kept_from); };
  TraceBuilder builder(is_recorded ? 50 : 64);
  builder.with({Counter::live_bytes}, bytes_at).with({Counter::live_blocks}, blocks_at).recorded(is_recorded ? 18 : 0);
  builder.with_stack({{"train.py", 9, "step", "kept = (kept, rows)", FrameOwner::user}});
  for (std::int64_t step = 33; step <= 50; ++step) {
    const auto identity = static_cast<std::uint64_t>(step);
    for (const auto type : {SurvivorType::block, SurvivorType::tensor}) {
      builder.with_survivor({.type = type,
                             .birth_step = step,
                             .identity = identity,
                             .storage = identity,
                             .bytes = 1 << 20,
                             .storage_bytes = 1 << 20,
                             .stack = 0});
    }
  }
  RunRecord record{.trace = builder.build()};
  if (is_recorded) record.trace.begin_pass({.type = PassType::screen});
  while (record.trace.step_count() < 160) {
    const auto step = record.trace.step_count() + 1;
    if (step == 129) record.trace.add_look({});
    record.trace.add_boundary(std::vector{bytes_at(step), blocks_at(step)});
  }
  record.failure = RunFailure{.what = "torch.OutOfMemoryError (in step 161)", .is_out_of_memory = true};
  const auto owned = all_detectors();
  std::vector<const Detector*> detectors;
  for (const auto& detector : owned) detectors.push_back(detector.get());
  return conclude(record, detectors);
}

TEST(ConclusionTest, CallsALeakWhatFillsTheMemory) {
  const auto result = ran_out(true, 0);
  EXPECT_EQ(result.verdict, Verdict::leak);
  ASSERT_TRUE(result.failure.has_value());
  EXPECT_EQ(result.failure->what, "torch.OutOfMemoryError (in step 161)");
  ASSERT_FALSE(result.findings.empty());
  ASSERT_FALSE(result.findings[0].where.empty());
  EXPECT_EQ(result.findings[0].where[0].line, 9);
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_EQ(result.notes[0], "places and holders are those of steps 33 to 50, which were recorded before");
}

TEST(ConclusionTest, SaysThatNothingWasRecordedOfWhatFillsTheMemory) {
  const auto result = ran_out(false, 0);
  EXPECT_EQ(result.verdict, Verdict::leak);
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_NE(result.notes[0].find("no step was recorded"), std::string::npos);
}

TEST(ConclusionTest, CallsAFailureWhatFillsTheMemoryTooSuddenly) {
  EXPECT_EQ(ran_out(false, 100).verdict, Verdict::failure);
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

// A table that still meets new keys when the budget ends; a step in the record pass left a tensor in it, or none did.
std::vector<std::string> notes_of_table(bool is_kept) {
  TraceBuilder builder(1024);
  builder
      .with({Counter::live_bytes},
            [](auto step) { return 4096 + 64 * std::lround(500 * (1 - std::exp(-static_cast<double>(step) / 400))); })
      .recorded(18)
      .with_object({.type = "dict", .name = "masks.table", .length = 23})
      .with_holder(
          {.held = 0,
           .container = 0,
           .kept_by = {.file = "masks.py", .line = 14},
           .structure = {.type = StructureType::keyed, .file = "masks.py", .line = 13, .text = "if n not in table:"},
           .gained_entries = 1});
  builder.with_survivor({.type = SurvivorType::tensor,
                         .birth_step = is_kept ? 1010 : 1024,
                         .identity = 1,
                         .storage = 1,
                         .bytes = 64,
                         .storage_bytes = 64,
                         .holder = 0});
  RunRecord record;
  record.trace = builder.build();
  record.trace.add_look({});
  const auto result = conclude(record, {});
  EXPECT_NE(result.reason.find("live_bytes@cpu has not settled"), std::string::npos) << result.reason;
  return result.notes;
}

TEST(ConclusionTest, NamesTheContainerThatMayMoveWhatHasNotSettled) {
  const auto notes = notes_of_table(true);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0],
            "what moves it may be masks.table (dict, len 23): it took 1 entry in the steps 1007 to 1024, which were "
            "recorded, kept by masks.py:14, and is filled once a key by masks.py:13  if n not in table");
  EXPECT_TRUE(notes_of_table(false).empty());
}

}  // namespace
}  // namespace stepleak
