// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Two leaks in one step: a ledger shows their sum.

#include "harness/analyse/further_leaks.hpp"

#include <gtest/gtest.h>

#include "detectors/growth/growth_detector.hpp"
#include "detectors/host_heap/host_heap_detector.hpp"
#include "harness/analyse/trends.hpp"
#include "tests/support/trace_builder.hpp"

namespace stepleak {
namespace {

constexpr std::int64_t kSteps = 274;
constexpr std::int64_t kRecorded = 18;
constexpr std::int64_t kKept = 1024;

Holder list_of(int node, StructureType type, std::int64_t gained_bytes = 0) {
  Holder holder{.held = node, .container = node};
  holder.structure.type = type;
  holder.gained_entries = kRecorded;
  holder.gained_bytes = gained_bytes;
  return holder;
}

// Tensors are kept in a first list; what a second one, or one in the same object, is like the test says.
// `is_first_known`: whether the holder of the first leak was found. `searched`: of how many tensors in the second list.
struct Outcome {
  std::vector<Finding> findings;
  std::vector<Finding> further;
  std::vector<Finding> unproven;
};
Outcome outcome_with(const Holder& second, std::int64_t bytes_of_tensors_in_it = 0, bool is_first_known = true,
                     std::int64_t searched = kRecorded, const Statement& first_kept_by = {}) {
  auto first = list_of(0, StructureType::unbounded);
  first.kept_by = first_kept_by;
  TraceBuilder builder(kSteps);
  builder.with({Counter::live_bytes}, [&](auto step) { return (kKept + bytes_of_tensors_in_it) * step; })
      .with({Counter::live_blocks}, [](auto step) { return step; })
      .with_object({.type = "list", .name = "train.kept", .length = 40})
      .with_object({.type = "list", .name = "train.records", .length = 40})
      .with_holder(first)
      .with_holder(second)
      .with_stack({{"train.py", 3, "step", "", FrameOwner::user}})
      .with_stack({{"train.py", 4, "step", "", FrameOwner::user}});
  for (std::int64_t step = kSteps - kRecorded + 1; step <= kSteps; ++step) {
    const auto storage = static_cast<std::uint64_t>(step);
    Survivor kept{.type = SurvivorType::tensor, .birth_step = step, .storage = storage, .bytes = kKept};
    kept.storage_bytes = kKept;
    kept.holder = is_first_known ? 0 : -1;
    kept.stack = 0;
    builder.with_survivor(kept);
    if (bytes_of_tensors_in_it == 0) continue;
    kept.storage = storage + kSteps;
    kept.bytes = kept.storage_bytes = bytes_of_tensors_in_it;
    kept.holder = step > kSteps - searched ? 1 : -1;
    kept.stack = 1;
    builder.with_survivor(kept);
  }
  const auto trace = builder.recorded(kRecorded).build();
  const Trends trends(trace);
  const Evidence evidence{trace, trends, trace.recording()};
  Outcome outcome{.findings = GrowthDetector().detect(evidence)};
  outcome.further = further_leaks(evidence, outcome.findings);
  outcome.unproven = unproven_beside(evidence, outcome.findings);
  return outcome;
}

TEST(FurtherLeaksTest, NamesAListOfRecordsBesideOneOfTensors) {
  const auto outcome = outcome_with(list_of(1, StructureType::unbounded, 600 * kRecorded));
  ASSERT_EQ(outcome.further.size(), 1U);
  EXPECT_EQ(outcome.further.front().kind, Kind::host_heap);
  EXPECT_EQ(outcome.further.front().holder, "train.records (list, len 40)");
  EXPECT_DOUBLE_EQ(outcome.further.front().bytes_per_step, 600);
}

TEST(FurtherLeaksTest, NamesAListThatNoStepEmpties) {
  EXPECT_EQ(outcome_with(list_of(1, StructureType::uncalled, 600 * kRecorded)).further.size(), 1U);
}

TEST(FurtherLeaksTest, NamesNoListThatIsBoundedOrLight) {
  EXPECT_TRUE(outcome_with(list_of(1, StructureType::bounded, 600 * kRecorded)).further.empty());
  EXPECT_TRUE(outcome_with(list_of(1, StructureType::reset, 600 * kRecorded)).further.empty());
  EXPECT_TRUE(outcome_with(list_of(1, StructureType::unknown, 600 * kRecorded)).further.empty());
  EXPECT_TRUE(outcome_with(list_of(1, StructureType::unbounded, 300 * kRecorded)).further.empty());
}

TEST(FurtherLeaksTest, KnowsWhatElseGrewThoughNothingProvesThatItGoesOn) {
  using enum StructureType;
  for (const auto type : {unknown, keyed, bounded, reset}) {
    const auto outcome = outcome_with(list_of(1, type), 256);
    ASSERT_EQ(outcome.unproven.size(), 1U);
    EXPECT_EQ(outcome.unproven.front().holder, "train.records (list, len 40)");
    EXPECT_NEAR(outcome.unproven.front().bytes_per_step, 256, 1);
    EXPECT_EQ(outcome.unproven.front().structure.type, type);
  }
  EXPECT_EQ(outcome_with(list_of(1, unknown, 600 * kRecorded)).unproven.size(), 1U);
  EXPECT_TRUE(outcome_with(list_of(1, unknown, 300 * kRecorded)).unproven.empty());
  EXPECT_TRUE(outcome_with(list_of(1, unbounded, 600 * kRecorded)).unproven.empty());
  EXPECT_TRUE(outcome_with(list_of(0, unknown, 600 * kRecorded)).unproven.empty());
}

// A list of models, of which one comes in each 60th step: the heap grows by its objects, and tensors are in some of the
// recorded steps' ones. `last_birth`: after which no tensor came.
std::vector<Finding> told_of_models(std::int64_t last_birth, std::vector<std::int64_t> births) {
  auto models = list_of(0, StructureType::unbounded, 2048 * kRecorded);
  models.is_weighed = true;
  TraceBuilder builder(kSteps);
  builder.with({Counter::live_bytes}, [=](auto step) { return kKept * (std::min(step, last_birth) / 60); })
      .with({Counter::heap_bytes}, [](auto step) { return (1 << 20) + 2048 * step; })
      .with_object({.type = "list", .name = "train.models", .length = 40})
      .with_holder(models)
      .with_holder(models)
      .with_stack({{"train.py", 3, "step", "", FrameOwner::user}});
  for (const auto step : births) {
    Survivor kept{.type = SurvivorType::tensor, .birth_step = step, .storage = static_cast<std::uint64_t>(step)};
    kept.bytes = kept.storage_bytes = kKept;
    kept.holder = 1;
    kept.stack = 0;
    builder.with_survivor(kept);
  }
  const auto trace = builder.recorded(kRecorded).build();
  const Trends trends(trace);
  const Evidence evidence{trace, trends, trace.recording()};
  auto findings = HostHeapDetector().detect(evidence);
  EXPECT_EQ(findings.size(), 1U);
  const bool are_told = tell_of_tensors(evidence, findings);
  EXPECT_EQ(are_told, findings.front().kind != Kind::host_heap);
  return findings;
}

TEST(FurtherLeaksTest, TellsOfTensorsInAContainerOfWhichTheHeapAloneTold) {
  const auto told = told_of_models(kSteps, {260, 270});
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told.front().kind, Kind::growth);
  EXPECT_EQ(told.front().structure.type, StructureType::unbounded);
  EXPECT_NEAR(told.front().bytes_per_step, 2.0 * kKept / told.front().explained_steps, 1);
}

TEST(FurtherLeaksTest, TellsOfNoTensorsThatHaveSettledOrAreOfOneStep) {
  EXPECT_EQ(told_of_models(59, {260, 270}).front().kind, Kind::host_heap);
  EXPECT_EQ(told_of_models(kSteps, {260}).front().kind, Kind::host_heap);
}

TEST(FurtherLeaksTest, NamesNoContainerTwice) {
  EXPECT_TRUE(outcome_with(list_of(0, StructureType::unbounded, 600 * kRecorded)).further.empty());
}

TEST(FurtherLeaksTest, NamesNoneWhereTheHolderOfTheFirstIsNotKnown) {
  EXPECT_TRUE(outcome_with(list_of(1, StructureType::unbounded, 600 * kRecorded), 0, false).further.empty());
}

TEST(FurtherLeaksTest, SharesTheBytesOfTwoListsOfTensors) {
  const auto outcome = outcome_with(list_of(1, StructureType::unbounded), 256);
  ASSERT_EQ(outcome.findings.size(), 1U);
  ASSERT_EQ(outcome.further.size(), 1U);
  EXPECT_EQ(outcome.findings.front().holder, "train.kept (list, len 40)");
  EXPECT_NEAR(outcome.findings.front().bytes_per_step, kKept, 1);
  EXPECT_EQ(outcome.further.front().holder, "train.records (list, len 40)");
  EXPECT_NEAR(outcome.further.front().bytes_per_step, 256, 1);
}

TEST(FurtherLeaksTest, TakesListsThatOneStatementFillsForOneLeak) {
  const Statement filling{.file = "train.py", .line = 9, .text = "log[name].append(value)"};
  const Statement another{.file = "train.py", .line = 12, .text = "log[name].append(value)"};
  auto second = list_of(1, StructureType::unbounded);
  second.kept_by = filling;
  const auto same = outcome_with(second, 256, true, kRecorded, filling);
  EXPECT_TRUE(same.further.empty());
  EXPECT_NEAR(same.findings.front().bytes_per_step, kKept + 256, 1);
  EXPECT_EQ(outcome_with(second, 256, true, kRecorded, another).further.size(), 1U);
}

TEST(FurtherLeaksTest, TakesWhatWasMadeAtOnePlaceForKeptByOne) {
  const auto outcome = outcome_with(list_of(1, StructureType::unbounded), 256, true, 5);
  ASSERT_EQ(outcome.further.size(), 1U);
  EXPECT_NEAR(outcome.further.front().bytes_per_step, 256, 1);
  EXPECT_EQ(outcome.further.front().kept_count, outcome.further.front().explained_steps);
}

}  // namespace
}  // namespace stepleak
