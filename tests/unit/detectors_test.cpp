// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "detectors/detectors.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <utility>

#include "detectors/attached_activation/attached_activation_detector.hpp"
#include "detectors/growing_buffer/growing_buffer_detector.hpp"
#include "detectors/growth/growth_detector.hpp"
#include "detectors/host_heap/host_heap_detector.hpp"
#include "detectors/raw_cuda/raw_cuda_detector.hpp"
#include "harness/analyse/device_growth.hpp"
#include "harness/analyse/record_outcome.hpp"
#include "tests/support/analysed.hpp"
#include "tests/support/trace_builder.hpp"

namespace stepleak {
namespace {

constexpr std::int64_t kSteps = 274;
constexpr std::int64_t kRecorded = 18;

// What one recorded step leaves behind: a tensor over a block, with or without a graph.
struct Kept {
  bool has_graph = false;
  bool is_computed = true;
  int dims = 2;
  std::int64_t bytes = 1024;
  std::int64_t storage_bytes = 1024;
  bool is_in_optimizer = false;
  int holder = -1;
  std::uint64_t place = 0;  // in what a step has of addresses
};

TraceBuilder leaking(std::int64_t bytes, std::int64_t blocks, std::int64_t nodes) {
  TraceBuilder builder(kSteps);
  builder.with({Counter::live_bytes}, [=](auto step) { return 4096 + bytes * step; })
      .with({Counter::live_blocks}, [=](auto step) { return 8 + blocks * step; })
      .with({Counter::live_nodes}, [=](auto step) { return nodes * step; })
      .with({Counter::live_tensors}, [=](auto step) { return blocks * step; })
      .recorded(kRecorded);
  return builder;
}

void keep(TraceBuilder& builder, const Kept& kept) {
  for (std::int64_t step = kSteps - kRecorded + 1; step <= kSteps; ++step) {
    const auto address = static_cast<std::uint64_t>(0x1000 * step) + kept.place;
    builder.with_survivor({.birth_step = step,
                           .identity = address,
                           .storage = address,
                           .bytes = kept.storage_bytes,
                           .storage_bytes = kept.storage_bytes});
    Survivor tensor{.type = SurvivorType::tensor, .birth_step = step, .identity = address + 8, .storage = address};
    tensor.bytes = kept.bytes;
    tensor.storage_bytes = kept.storage_bytes;
    tensor.dims = kept.dims;
    tensor.name = "float";
    tensor.has_graph = tensor.is_sink = kept.has_graph;
    tensor.is_computed = kept.is_computed;
    tensor.is_optimizer_state = kept.is_in_optimizer;
    tensor.holder = kept.holder;
    builder.with_survivor(tensor);
    if (kept.has_graph) {
      builder.with_survivor(
          {.type = SurvivorType::node, .birth_step = step, .identity = address + 16, .is_sink = true});
    }
  }
}

std::set<Kind> kinds_of(const TraceBuilder& builder) {
  const Analysed trace(builder.build());
  std::set<Kind> kinds;
  for (const auto& detector : all_detectors()) {
    for (const auto& finding : trace.findings(*detector)) kinds.insert(finding.kind);
  }
  return kinds;
}

TEST(GraphRetentionDetectorTest, DetectsAKeptLoss) {
  auto builder = leaking(64, 1, 9);
  keep(builder, {.has_graph = true, .dims = 0, .bytes = 4, .storage_bytes = 64});
  EXPECT_TRUE(kinds_of(builder).contains(Kind::graph_retention));
}

TEST(GraphRetentionDetectorTest, IgnoresAKeptActivation) {
  auto builder = leaking(1024, 1, 9);
  keep(builder, {.has_graph = true});
  EXPECT_FALSE(kinds_of(builder).contains(Kind::graph_retention));
}

// A GPU's run has no ledger of nodes, as HostHeapDetectorTest's has none: the heap is what they weigh.
TraceBuilder uncounted_nodes(std::int64_t newest_kept_steps) {
  TraceBuilder builder(kSteps);
  builder.with({Counter::live_bytes}, [](auto) { return 4096; })
      .with({Counter::heap_bytes}, [](auto step) { return 9216 * step; })
      .recorded(kRecorded);
  for (std::int64_t step = kSteps - newest_kept_steps + 1; step <= kSteps; ++step) {
    const auto address = static_cast<std::uint64_t>(0x1000 * step);
    builder.with_survivor({.type = SurvivorType::node, .birth_step = step, .identity = address});
    builder.with_survivor(
        {.type = SurvivorType::tensor, .birth_step = step, .identity = address + 8, .name = "float", .is_sink = true});
  }
  return builder;
}

TEST(GraphRetentionDetectorTest, DetectsAGraphWhoseNodesOnlyTheRecordPassCounted) {
  EXPECT_TRUE(kinds_of(uncounted_nodes(kRecorded)).contains(Kind::graph_retention));
}

TEST(GraphRetentionDetectorTest, IgnoresAGraphThatTheNewestStepsCarryOver) {
  EXPECT_FALSE(kinds_of(uncounted_nodes(kRecorded / 4)).contains(Kind::graph_retention));
}

// A state that each step makes of the last one's, of which only the newest is a sink, beside the loss of the last step.
// Who holds the state before it is known, and `structure` of that; `is_sink_held`: also who holds the newest.
TraceBuilder carried_state(bool is_sink_held, StructureType structure = StructureType::unknown) {
  auto builder = leaking(1024, 1, 9);
  builder.with_object({.type = "Tensor"}).with_object({.type = "Session"});
  builder.with_holder({.held = 0}).with_holder({.held = 1, .structure = {.type = structure}});
  for (std::int64_t step = kSteps - kRecorded + 1; step <= kSteps; ++step) {
    const auto address = static_cast<std::uint64_t>(0x1000 * step);
    builder.with_survivor({.type = SurvivorType::node, .birth_step = step, .identity = address});
  }
  const auto tensor = [&](std::int64_t step, std::uint64_t address, int dims, bool is_sink, int holder) {
    builder.with_survivor({.type = SurvivorType::tensor,
                           .birth_step = step,
                           .identity = address,
                           .bytes = dims == 0 ? 4 : 1024,
                           .dims = dims,
                           .name = "float",
                           .has_graph = true,
                           .is_sink = is_sink,
                           .holder = holder});
  };
  tensor(kSteps - 1, 0x8, 2, false, 1);
  tensor(kSteps, 0x10, 2, true, is_sink_held ? 0 : -1);
  tensor(kSteps, 0x18, 0, true, -1);
  return builder;
}

TEST(AttachedActivationDetectorTest, DetectsAStateThatIsHandedOnBesideTheLossOfTheLastStep) {
  const auto holder_of = [](bool is_sink_held, StructureType structure = StructureType::unknown) {
    const auto builder = carried_state(is_sink_held, structure);
    EXPECT_TRUE(kinds_of(builder).contains(Kind::attached_activation));
    EXPECT_FALSE(kinds_of(builder).contains(Kind::graph_retention));
    return Analysed(builder.build()).findings(AttachedActivationDetector()).front().holder_index;
  };
  EXPECT_EQ(holder_of(true), 0);
  // A call that is not over holds the newest.
  EXPECT_EQ(holder_of(false), 1);
  // The sources tell that the state is made of what it was: the newest tensor is made of it, to be shown.
  EXPECT_EQ(holder_of(true, StructureType::unbounded), 1);
}

TEST(AttachedActivationDetectorTest, DetectsAKeptActivationWithItsGraph) {
  auto builder = leaking(1024, 1, 9);
  keep(builder, {.has_graph = true});
  EXPECT_TRUE(kinds_of(builder).contains(Kind::attached_activation));
}

TEST(AttachedActivationDetectorTest, IgnoresADetachedOne) {
  auto builder = leaking(1024, 1, 0);
  keep(builder, {});
  EXPECT_EQ(kinds_of(builder), std::set{Kind::detached_activation});
}

TEST(ViewPinsStorageDetectorTest, DetectsASmallViewOfALargeStorage) {
  auto builder = leaking(1024, 1, 0);
  keep(builder, {.bytes = 64});
  EXPECT_EQ(kinds_of(builder), std::set{Kind::view_pins_storage});
}

// Blocks that no tensor is known to use, as many bytes as the tensors': what these are says more.
TEST(ViewPinsStorageDetectorTest, IsNotHiddenByAsMuchThatIsNotKnown) {
  auto builder = leaking(4096, 2, 0);
  keep(builder, {.bytes = 4, .storage_bytes = 2048});
  for (std::int64_t step = kSteps - kRecorded + 1; step <= kSteps; ++step) {
    const auto address = static_cast<std::uint64_t>(0x1000 * step + 0x800);
    builder.with_survivor(
        {.birth_step = step, .identity = address, .storage = address, .bytes = 2048, .storage_bytes = 2048});
  }
  EXPECT_EQ(kinds_of(builder), std::set{Kind::view_pins_storage});
}

TEST(ViewPinsStorageDetectorTest, IgnoresAViewOfMostOfItsStorage) {
  auto builder = leaking(1024, 1, 0);
  keep(builder, {.bytes = 1000});
  EXPECT_EQ(kinds_of(builder), std::set{Kind::detached_activation});
}

// Images of a batch, each of which a pool keeps: a copy of each would be as much as the batch.
TEST(ViewPinsStorageDetectorTest, IgnoresViewsThatNeedTheirStorageTogether) {
  const auto kinds_with = [](int views) {
    auto builder = leaking(1024, 1, 0);
    for (int view = 0; view < views; ++view) keep(builder, {.bytes = 256});
    return kinds_of(builder);
  };
  EXPECT_EQ(kinds_with(4), std::set{Kind::detached_activation});
  EXPECT_EQ(kinds_with(2), std::set{Kind::view_pins_storage});
}

TEST(GrowthDetectorTest, DetectsFreshTensorsThatAreKept) {
  auto builder = leaking(1024, 1, 0);
  keep(builder, {.is_computed = false});
  EXPECT_EQ(kinds_of(builder), std::set{Kind::growth});
}

// Moments that optimizer.step() makes, of parameters that were added to it; what bounds its groups.
std::string holder_of_moments(StructureType type) {
  auto builder = leaking(4096, 2, 0);
  builder.with_object({.type = "torch::optim::Adam", .name = "Trainer::optimizer"})
      .with_holder({.held = 0,
                    .container = 0,
                    .kept_by = {.file = "train.cpp",
                                .line = 7,
                                .text = "optimizer.add_param_group(weights);",
                                .calls = {"add_param_group"}},
                    .structure = {.type = type},
                    .is_of_sources = true});
  keep(builder, {.is_computed = true, .holder = 0});
  keep(builder, {.is_computed = false, .bytes = 2048, .storage_bytes = 2048, .place = 0x800});
  return Analysed(builder.build()).findings(GrowthDetector()).at(0).kept_by.text;
}

TEST(GrowthDetectorTest, LeadsFromStateToTheGroupThatWasAdded) {
  EXPECT_EQ(holder_of_moments(StructureType::unbounded), "optimizer.add_param_group(weights);");
  EXPECT_EQ(holder_of_moments(StructureType::conditional), "");
}

// Large batches in a buffer that is full, and a small number of each step in a list beside it.
std::set<Kind> kinds_beside_a_full_buffer(StructureType type, std::int64_t gained) {
  auto builder = leaking(4096, 2, 0);
  builder.with_object({.type = "deque", .length = 50, .bound = 50}).with_object({.type = "list", .length = 600});
  builder.with_holder({.held = 0, .container = 0, .structure = {.type = StructureType::bounded, .bound = 50}})
      .with_holder({.held = 1, .container = 1, .structure = {.type = type}, .gained_entries = gained});
  keep(builder, {.is_computed = false, .bytes = 4000, .storage_bytes = 4000, .holder = 0});
  keep(builder, {.bytes = 64, .storage_bytes = 64, .holder = 1, .place = 0x800});
  return kinds_of(builder);
}

TEST(DetachedActivationDetectorTest, DetectsWhatIsKeptForEverBesideAFullBufferOfLargerOnes) {
  EXPECT_EQ(kinds_beside_a_full_buffer(StructureType::unbounded, kRecorded), std::set{Kind::detached_activation});
  EXPECT_EQ(kinds_beside_a_full_buffer(StructureType::unbounded, 1), std::set{Kind::growth});
  EXPECT_EQ(kinds_beside_a_full_buffer(StructureType::conditional, kRecorded), std::set{Kind::growth});
}

TEST(GrowthDetectorTest, IgnoresALevelThatIsConstant) { EXPECT_TRUE(kinds_of(leaking(0, 0, 0)).empty()); }

TEST(GrowthDetectorTest, IgnoresACacheThatFillsOnce) {
  TraceBuilder builder(kSteps);
  builder.with({Counter::live_bytes}, [](auto step) { return 64 * std::min<std::int64_t>(step, 50); })
      .with({Counter::live_blocks}, [](auto step) { return std::min<std::int64_t>(step, 50); });
  EXPECT_TRUE(kinds_of(builder).empty());
}

TEST(GrowingBufferDetectorTest, DetectsBytesThatGrowInAConstantNumberOfBlocks) {
  EXPECT_EQ(kinds_of(leaking(2048, 0, 0)), std::set{Kind::growing_buffer});
}

// As of a back end that counts no blocks.
TraceBuilder growing_in_uncounted_blocks() {
  TraceBuilder builder(kSteps);
  builder.with({Counter::live_bytes}, [](auto step) { return 4096 + 2048 * step; }).recorded(kRecorded);
  return builder;
}

TEST(GrowingBufferDetectorTest, DetectsUncountedBlocksOfWhichOnlyTheNewestIsAlive) {
  auto builder = growing_in_uncounted_blocks();
  builder.with_survivor({.type = SurvivorType::tensor,
                         .birth_step = kSteps,
                         .identity = 8,
                         .storage = 16,
                         .bytes = 500'000,
                         .storage_bytes = 500'000});
  EXPECT_TRUE(kinds_of(builder).contains(Kind::growing_buffer));
}

TEST(GrowingBufferDetectorTest, IgnoresUncountedBlocksOfEachStep) {
  auto builder = growing_in_uncounted_blocks();
  keep(builder, {.storage_bytes = 2048});
  EXPECT_FALSE(kinds_of(builder).contains(Kind::growing_buffer));
}

// Every 16 steps 32 KiB; what was born when is alive at the look as `cohorts` say.
TraceBuilder growing_by_trials(Cohorts cohorts) {
  auto builder = leaking(2048, 0, 0);
  builder.with({Counter::live_bytes}, [](auto step) { return 4096 + step / 16 * 32768; })
      .with_cohorts({kHost, kSteps - kRecorded, std::move(cohorts)});
  return builder;
}

TEST(GrowingBufferDetectorTest, DetectsABufferOfWhichOnlyTheNewestIsAlive) {
  EXPECT_EQ(kinds_of(growing_by_trials({{0, 4096, 8}, {256, 16 * 32768, 1}})), std::set{Kind::growing_buffer});
}

TEST(GrowingBufferDetectorTest, IgnoresModelsOfTrialsThatAreAliveOfAllAges) {
  Cohorts cohorts;
  for (std::int64_t step = 0; step <= 256; step += 16) cohorts.push_back({step, 32768, 6});
  EXPECT_FALSE(kinds_of(growing_by_trials(cohorts)).contains(Kind::growing_buffer));
}

// A buffer of whose variable the sources say `structure`.
RecordOutcome::Type outcome_of_buffer(const Structure& structure) {
  auto builder = leaking(2048, 0, 0);
  builder.with_object({.type = "Tensor"}).with_holder({.held = 0, .structure = structure});
  keep(builder, {.holder = 0});
  return Analysed(builder.build()).outcome(GrowingBufferDetector()).type;
}

TEST(GrowingBufferDetectorTest, WaitsForALineThatCutsTheBuffer) {
  EXPECT_EQ(outcome_of_buffer({.type = StructureType::bounded, .bound = 1200}), RecordOutcome::Type::filling);
  EXPECT_EQ(outcome_of_buffer({.type = StructureType::conditional}), RecordOutcome::Type::filling);
  EXPECT_EQ(outcome_of_buffer({}), RecordOutcome::Type::open);
}

// The buffer of each of the last two steps, the newest of which nobody is known to hold.
int holder_of_buffer(std::int64_t earlier_bytes) {
  auto builder = leaking(2048, 0, 0);
  builder.with_object({.type = "Tensor"}).with_holder({.held = 0});
  const auto add = [&](std::int64_t step, std::uint64_t storage, std::int64_t bytes, int holder) {
    builder.with_survivor(
        {.type = SurvivorType::block, .birth_step = step, .identity = storage, .storage = storage, .bytes = bytes});
    builder.with_survivor({.type = SurvivorType::tensor,
                           .birth_step = step,
                           .identity = storage + 8,
                           .storage = storage,
                           .bytes = bytes,
                           .storage_bytes = bytes,
                           .holder = holder});
  };
  add(kSteps - 1, 0x100, earlier_bytes, 0);
  add(kSteps, 0x200, 500'000, -1);
  return Analysed(builder.build()).findings(GrowingBufferDetector()).front().holder_index;
}

TEST(GrowingBufferDetectorTest, NamesWhoHeldTheBufferOfTheStepBefore) {
  EXPECT_EQ(holder_of_buffer(500'000 - 2048), 0);
  EXPECT_EQ(holder_of_buffer(500'000 - 9 * 2048), -1);
}

// A copy that nobody is known to hold, beside what an operator made and somebody holds.
int holder_beside_a_copy(const std::string& op, std::int64_t bytes) {
  auto builder = leaking(2048, 0, 0);
  builder.with_object({.type = "Tensor"}).with_holder({.held = 0});
  builder.with_survivor({.birth_step = kSteps, .identity = 0x200, .storage = 0x200, .bytes = 900'000});
  builder.with_survivor({.birth_step = kSteps, .identity = 0x100, .storage = 0x100, .bytes = bytes});
  builder.with_survivor({.type = SurvivorType::tensor,
                         .birth_step = kSteps,
                         .identity = 0x108,
                         .storage = 0x100,
                         .bytes = bytes,
                         .storage_bytes = bytes,
                         .op = op,
                         .holder = 0});
  return Analysed(builder.build()).findings(GrowingBufferDetector()).front().holder_index;
}

TEST(GrowingBufferDetectorTest, NamesTheHeldJoinBesideACopyInUse) {
  EXPECT_EQ(holder_beside_a_copy("aten::cat", 400'000), 0);
  EXPECT_EQ(holder_beside_a_copy("aten::mul", 400'000), -1);
  EXPECT_EQ(holder_beside_a_copy("aten::cat", 4096), -1);
}

TEST(GrowingBufferDetectorTest, IgnoresOneMoreBlockAStep) {
  auto builder = leaking(2048, 1, 0);
  EXPECT_FALSE(kinds_of(builder).contains(Kind::growing_buffer));
}

TEST(ReferenceCycleDetectorTest, DetectsGarbageWhileTheCollectorIsOff) {
  auto builder = TraceBuilder(kSteps)
                     .with({Counter::live_bytes, kHost, Moment::before_collection}, [](auto) { return 8192; })
                     .with({Counter::live_bytes}, [](auto) { return 4096; });
  const auto detectors = all_detectors();
  ASSERT_EQ(detectors.front()->kind(), Kind::reference_cycle);
  const auto findings = Analysed(builder.with_collector(false).build()).findings(*detectors.front());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_DOUBLE_EQ(findings.front().bytes_per_step, 4096);
  EXPECT_TRUE(Analysed(builder.with_collector(true).build()).findings(*detectors.front()).empty());
}

TEST(ReferenceCycleDetectorTest, ProvesACycleThatSurvivorsOfTwoStepsAreIn) {
  Finding finding{.kind = Kind::reference_cycle, .structure = {.type = StructureType::unreachable}, .kept_count = 2};
  EXPECT_TRUE(is_proven(finding));
  finding.kept_count = 1;
  EXPECT_FALSE(is_proven(finding));
}

TEST(HostHeapDetectorTest, DetectsTheHeapAloneAboveItsFloorOnly) {
  const auto with_heap = [](std::int64_t per_step) {
    TraceBuilder builder(256);
    builder.with({Counter::live_bytes}, [](auto) { return 4096; }).with({Counter::heap_bytes}, [=](auto step) {
      return 1000000 + per_step * step;
    });
    return builder;
  };
  EXPECT_EQ(kinds_of(with_heap(2048)), std::set{Kind::host_heap});
  EXPECT_TRUE(kinds_of(with_heap(100)).empty());
}

TEST(HostHeapDetectorTest, DetectsMappedMemoryThatMallocDoesNotHandOut) {
  const auto with_mapped = [](std::int64_t per_step) {
    TraceBuilder builder(600);
    builder.with({Counter::live_bytes}, [](auto) { return 4096; })
        .with({Counter::heap_bytes}, [](auto) { return 1000000; })
        .with({Counter::mapped_bytes}, [=](auto step) { return 1000000 + 4096 * (per_step * step / 4096); });
    return builder;
  };
  EXPECT_EQ(kinds_of(with_mapped(65536)), std::set{Kind::host_heap});
  EXPECT_TRUE(kinds_of(with_mapped(100)).empty());
  EXPECT_TRUE(kinds_of(with_mapped(0)).empty());
}

// What the first of all detectors says that says anything.
Finding first_finding(Trace trace) {
  const Analysed analysed(std::move(trace));
  for (const auto& detector : all_detectors()) {
    for (const auto& finding : analysed.findings(*detector)) return finding;
  }
  return {};
}

// A heap that grows by 2 KiB a step, and native allocations of so many bytes that the recorded steps left.
Finding witnessed_by(std::int64_t bytes, std::int64_t every) {
  TraceBuilder builder(kSteps);
  builder.with({Counter::live_bytes}, [](auto) { return 4096; })
      .with({Counter::heap_bytes}, [](auto step) { return 1000000 + 2048 * step; })
      .with_stack({{.file = "/home/me/log.cpp", .line = 12, .function = "note", .owner = FrameOwner::user}})
      .recorded(kRecorded);
  for (auto step = kSteps - kRecorded + 1; step <= kSteps; step += every) {
    builder.with_survivor({.type = SurvivorType::heap,
                           .birth_step = step,
                           .identity = static_cast<std::uint64_t>(step),
                           .bytes = bytes,
                           .storage_bytes = bytes,
                           .stack = 0});
  }
  return first_finding(builder.build());
}

TEST(HostHeapDetectorTest, NamesWhereTheBetterPartOfTheHeapWasAllocated) {
  const auto finding = witnessed_by(2064, 1);
  ASSERT_EQ(finding.kind, Kind::host_heap);
  ASSERT_EQ(finding.where.size(), 1U);
  EXPECT_EQ(finding.where.front().line, 12);
  EXPECT_EQ(finding.kept_count, finding.explained_steps);
}

TEST(HostHeapDetectorTest, NamesNoPlaceOfALesserPartNorOfASingleStep) {
  EXPECT_TRUE(witnessed_by(512, 1).where.empty());
  EXPECT_TRUE(witnessed_by(1 << 20, kRecorded).where.empty());
}

// The same heap, a list that grew and a buffer that did, by so many bytes in the recorded steps.
Finding with_buffer(std::int64_t growth, std::int64_t bytes) {
  TraceBuilder builder(kSteps);
  builder.with({Counter::live_bytes}, [](auto) { return 4096; })
      .with({Counter::heap_bytes}, [](auto step) { return 1000000 + 2048 * step; })
      .with_object({.type = "list", .name = "train.kept", .length = 40})
      .with_object({.type = "StringIO", .name = "train.log"})
      .with_holder({.held = 0, .container = 0})
      .with_holder({.held = 1, .buffer_bytes = bytes, .buffer_growth = growth})
      .recorded(kRecorded);
  return first_finding(builder.build());
}

TEST(HostHeapDetectorTest, NamesTheBufferThatGrewAsTheHeapDid) {
  EXPECT_EQ(with_buffer(2048 * kRecorded, 2048 * kSteps).holder, "train.log (StringIO) -> StringIO");
}

TEST(HostHeapDetectorTest, NamesAContainerBesideABufferThatIsNotTheLeak) {
  // Lesser than what the steps left, or newest of some that are not kept.
  EXPECT_EQ(with_buffer(512 * kRecorded, 2048 * kSteps).holder, "train.kept (list, len 40)");
  EXPECT_EQ(with_buffer(2048 * kRecorded, 600 * kSteps).holder, "train.kept (list, len 40)");
}

// Small blocks of Python's own allocator, so many a step, a list, and a buffer that grew by less than the heap's noise.
Finding with_buffer_beside_blocks(double blocks_per_step) {
  TraceBuilder builder(kSteps);
  builder.with({Counter::live_bytes}, [](auto) { return 4096; })
      .with({Counter::heap_bytes}, [](auto step) { return 1000000 + 32 * step; })
      .with({Counter::python_blocks}, [&](auto step) { return 50000 + std::llround(blocks_per_step * step); })
      .with_object({.type = "list", .name = "train.kept", .length = 40})
      .with_object({.type = "StringIO", .name = "train.log"})
      .with_holder({.held = 1, .buffer_bytes = 32 * kSteps, .buffer_growth = 32 * kRecorded})
      .with_holder(
          {.held = 0, .container = 0, .gained_blocks = std::llround(blocks_per_step * kRecorded), .is_weighed = true})
      .recorded(kRecorded);
  return first_finding(builder.build());
}

TEST(HostHeapDetectorTest, NamesNoBufferForBlocksThatLieInNone) {
  EXPECT_EQ(with_buffer_beside_blocks(12).holder, "train.kept (list, len 40)");
  EXPECT_EQ(with_buffer_beside_blocks(1).holder, "");
}

// The same heap, a list that grew first and a second that may weigh more, of which nothing takes anything out.
Finding with_weighed(const Holder& first, const Holder& second, std::int64_t heap_bytes_per_step = 2048) {
  TraceBuilder builder(kSteps);
  builder.with({Counter::live_bytes}, [](auto) { return 4096; })
      .with({Counter::heap_bytes}, [&](auto step) { return 1000000 + heap_bytes_per_step * step; })
      .with_object({.type = "list", .name = "train.numbers", .length = 40})
      .with_object({.type = "list", .name = "train.arrays", .length = 40});
  int node = 0;
  for (auto holder : {first, second}) {
    holder.held = holder.container = node++;
    holder.structure.type = StructureType::unbounded;
    builder.with_holder(std::move(holder));
  }
  return first_finding(builder.recorded(kRecorded).build());
}

constexpr std::int64_t kBetterPart = 1500 * kRecorded;

TEST(HostHeapDetectorTest, NamesTheContainerThatGainedTheBetterPart) {
  const auto finding = with_weighed({.gained_bytes = 32 * kRecorded, .is_weighed = true},
                                    {.gained_bytes = kBetterPart, .is_weighed = true});
  EXPECT_EQ(finding.holder, "train.arrays (list, len 40)");
  EXPECT_TRUE(is_proven(finding));
}

TEST(HostHeapDetectorTest, NamesNoContainerThatIsKnownToHaveGainedLess) {
  const Holder light{.gained_bytes = 32 * kRecorded, .is_weighed = true};
  const auto finding = with_weighed(light, light);
  EXPECT_EQ(finding.holder, "");
  EXPECT_FALSE(is_proven(finding));
}

TEST(HostHeapDetectorTest, NamesAContainerThatGainedAPartAndProvesNothingByIt) {
  // What a library takes for each entry is not known.
  const auto finding = with_weighed({.gained_bytes = 32 * kRecorded, .is_weighed = true},
                                    {.gained_bytes = 700 * kRecorded, .is_weighed = true});
  EXPECT_EQ(finding.holder, "train.arrays (list, len 40)");
  EXPECT_FALSE(is_proven(finding));
}

// A run that was killed before its record pass: a tensor more of every tenth step, on storages of others.
TEST(GrowthDetectorTest, CountsTensorsWithoutMemoryWhereNoStepWasRecorded) {
  TraceBuilder builder(kSteps);
  builder.with({Counter::live_bytes}, [](auto) { return 4096; })
      .with({Counter::live_blocks}, [](auto) { return 4; })
      .with({Counter::live_tensors}, [](auto step) { return 4 + step / 10; });
  const auto finding = Analysed(builder.build()).findings(GrowthDetector()).at(0);
  EXPECT_EQ(finding.counted, Counted::tensors);
  EXPECT_EQ(finding.what, "1 tensor stays of every 10 steps since step 10");
}

// What a graph holds lies in its pool, whose bytes rise too unevenly to be called growing.
TEST(GrowthDetectorTest, CountsNoTensorsWithMemoryWhereTheBytesThatGrowAreOthers) {
  TraceBuilder builder(kSteps);
  builder.with({Counter::live_bytes}, [](auto) { return 4096; })
      .with({Counter::live_blocks}, [](auto) { return 4; })
      .with({Counter::live_tensors}, [](auto step) { return 4 + step; })
      .recorded(kRecorded);
  const auto keep_in_each_step = [&](SurvivorType type) {
    for (std::int64_t step = kSteps - kRecorded + 1; step <= kSteps; ++step) {
      builder.with_survivor({.type = type,
                             .device = {DeviceType::cuda, 0},
                             .birth_step = step,
                             .identity = static_cast<std::uint64_t>(kSteps + step),
                             .storage = static_cast<std::uint64_t>(step),
                             .bytes = 512,
                             .storage_bytes = 512});
    }
  };
  keep_in_each_step(SurvivorType::tensor);
  EXPECT_EQ(Analysed(builder.build()).findings(GrowthDetector()).size(), 1U);
  keep_in_each_step(SurvivorType::block);
  EXPECT_TRUE(Analysed(builder.build()).findings(GrowthDetector()).empty());
}

// An entry of each tenth step, of so few objects that by their weight they were a log.
std::vector<Finding> with_light_entries(const Holder& holder) {
  TraceBuilder builder(kSteps);
  builder.with({Counter::live_bytes}, [](auto) { return 4096; })
      .with({Counter::heap_bytes}, [](auto) { return 1000000; })
      .with({Counter::python_objects}, [](auto step) { return 5 * (step / 10); })
      .with({Counter::python_blocks}, [](auto step) { return 5 * (step / 10); })
      .with_object({.type = "OrderedDict", .name = "train.hooks", .length = 40})
      .with_holder(holder)
      .recorded(kRecorded);
  return Analysed(builder.build()).findings(HostHeapDetector());
}

TEST(HostHeapDetectorTest, ProvesLightEntriesThatAreCallbacksAndNoOthers) {
  Holder holder{.held = 0, .container = 0, .structure = {.type = StructureType::unbounded}, .gained_entries = 2};
  EXPECT_TRUE(with_light_entries(holder).empty());
  holder.gains_callbacks = true;
  const auto findings = with_light_entries(holder);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_TRUE(is_proven(findings.front()));
  EXPECT_EQ(findings.front().what, "5 python objects stay of every 10 steps");
  holder.structure.type = StructureType::bounded;
  EXPECT_TRUE(with_light_entries(holder).empty());
}

// Objects of Python's that stay of every step, eight each, and so many of the recorded ones that were garbage.
RecordOutcome::Type outcome_of_garbage(std::int64_t objects) {
  TraceBuilder builder(kSteps);
  builder.with({Counter::live_bytes}, [](auto) { return 4096; })
      .with({Counter::heap_bytes}, [](auto step) { return 1000000 + 2048 * step; })
      .with({Counter::python_objects}, [](auto step) { return 8 * step; })
      .with_set_apart_garbage(objects)
      .recorded(kRecorded);
  return Analysed(builder.build()).outcome(HostHeapDetector()).type;
}

TEST(RecordOutcomeTest, IsWithheldWhereWhatStayedWasGarbageOfWhatHadBeenSetApart) {
  EXPECT_EQ(outcome_of_garbage(8 * kRecorded), RecordOutcome::Type::withheld);
  EXPECT_EQ(outcome_of_garbage(3 * kRecorded), RecordOutcome::Type::open);
}

// A log of numbers, in a process whose heap moves by as much beside it.
TEST(HostHeapDetectorTest, ProvesNothingByAContainerThatGainedLessThanALeak) {
  EXPECT_FALSE(is_proven(with_weighed({}, {.gained_bytes = 340 * kRecorded, .is_weighed = true}, 560)));
  EXPECT_TRUE(is_proven(with_weighed({}, {.gained_bytes = 540 * kRecorded, .is_weighed = true}, 560)));
}

TEST(HostHeapDetectorTest, ProvesNothingByAContainerThatCannotBeWeighed) {
  const auto finding = with_weighed({.gained_bytes = 32 * kRecorded, .is_weighed = true}, {});
  EXPECT_EQ(finding.holder, "train.arrays (list, len 40)");
  EXPECT_FALSE(is_proven(finding));
}

constexpr Device kGpu{DeviceType::cuda, 0};
constexpr std::int64_t kMebi = std::int64_t{1} << 20;

// A GPU on which each ledger rises by so many bytes a step.
struct GpuRates {
  std::int64_t live = 0;
  std::int64_t waiting = 0;
  std::int64_t reserved = 0;
  std::int64_t private_pool = 0;
  std::int64_t outside = 0;
  std::int64_t pinned = 0;
  std::int64_t mapped = 0;
};

TraceBuilder gpu(const GpuRates& rates) {
  TraceBuilder builder(kSteps);
  const auto rising = [](std::int64_t level, std::int64_t rate) {
    return [=](auto step) { return level + rate * step; };
  };
  builder.with({Counter::live_bytes, kGpu}, rising(kMebi, rates.live))
      .with({Counter::live_blocks, kGpu}, rising(8, rates.live > 0 ? 1 : 0))
      .with({Counter::active_bytes, kGpu}, rising(kMebi, rates.live + rates.waiting))
      .with({Counter::reserved_bytes, kGpu}, rising(64 * kMebi, rates.reserved))
      .with({Counter::segment_count, kGpu}, rising(4, rates.reserved / kMebi))
      .with({Counter::largest_free_block_bytes, kGpu}, rising(kMebi, 0))
      .with({Counter::private_pool_bytes, kGpu}, rising(0, rates.private_pool))
      .with({Counter::outside_bytes, kGpu}, rising(500 * kMebi, rates.outside))
      .with({Counter::pinned_bytes}, rising(kMebi, rates.pinned))
      .with({Counter::heap_bytes}, rising(kMebi, 0))
      .with({Counter::mapped_bytes}, rising(kMebi, rates.mapped))
      .recorded(kRecorded);
  return builder;
}

TEST(FragmentationDriftDetectorTest, DetectsReservedGrowthAtEqualLiveBytes) {
  EXPECT_EQ(kinds_of(gpu({.reserved = 2 * kMebi})), std::set{Kind::fragmentation_drift});
}

TEST(FragmentationDriftDetectorTest, IgnoresReservedGrowthThatLiveTensorsNeed) {
  EXPECT_EQ(kinds_of(gpu({.live = 2 * kMebi, .reserved = 2 * kMebi})), std::set{Kind::growth});
}

// A loss of 4 bytes of every step is kept in a block of 512; so are `beside` blocks that no tensor is known to use, as
// where a step ends between a block's birth and its tensor's.
Finding of_scalars(std::int64_t beside) {
  auto builder = gpu({.live = 512});
  builder.with_object({.type = "list", .name = "train.losses", .length = 300})
      .with_holder({.held = 0, .container = 0, .gained_entries = kRecorded});
  for (std::int64_t step = kSteps - kRecorded + 1; step <= kSteps; ++step) {
    const auto address = static_cast<std::uint64_t>(0x1000 * step);
    Survivor loss{.type = SurvivorType::tensor, .device = kGpu, .birth_step = step, .identity = address + 8};
    loss.storage = address;
    loss.bytes = loss.storage_bytes = 4;
    loss.is_computed = true;
    loss.holder = 0;
    builder.with_survivor(loss);
    const auto is_beside = step > kSteps - 2 - beside;
    builder.with_survivor({.device = kGpu,
                           .birth_step = step,
                           .storage = is_beside ? address + 512 : address,
                           .bytes = 512,
                           .storage_bytes = 512});
  }
  const Analysed analysed(builder.build());
  for (const auto& detector : all_detectors()) {
    const auto findings = analysed.findings(*detector);
    if (!findings.empty()) return findings.front();
  }
  return {};
}

TEST(GrowthDetectorTest, WeighsTensorsOfAGpuByTheBlocksThatTheyTake) {
  EXPECT_EQ(of_scalars(0).holder, "train.losses (list, len 300)");
  EXPECT_EQ(of_scalars(3).holder, "train.losses (list, len 300)");
}

TraceBuilder host_with_shared(std::int64_t rate) {
  TraceBuilder builder(kSteps);
  // A loader's workers run ahead by up to two batches of 64 KiB.
  builder.with({Counter::live_bytes}, [](auto) { return kMebi; })
      .with({Counter::live_blocks}, [](auto) { return 8; })
      .with({Counter::live_tensors}, [rate](auto step) { return rate > 0 ? step : 8; })
      .with({Counter::shared_bytes}, [rate](auto step) { return kMebi + rate * step + step * 7 % 3 * 65536; })
      .recorded(kRecorded);
  return builder;
}

TEST(GrowthDetectorTest, DetectsSharedMemoryThatStays) {
  EXPECT_EQ(kinds_of(host_with_shared(65536)), std::set{Kind::growth});
}

// Segments of `multiprocessing.shared_memory`, of which no tensor is made: a list got one of each step, or nothing did.
TEST(GrowthDetectorTest, NamesTheContainerOfSharedMemoryThatNoTensorUses) {
  const auto found_with = [](std::int64_t entries) {
    TraceBuilder builder(kSteps);
    builder.with({Counter::live_bytes}, [](auto) { return kMebi; })
        .with({Counter::live_blocks}, [](auto) { return 8; })
        .with({Counter::live_tensors}, [](auto) { return 8; })
        .with({Counter::shared_bytes}, [](auto step) { return 65536 * step; })
        .recorded(kRecorded)
        .with_object({.type = "list", .name = "train.kept", .length = 274})
        .with_holder({.held = 0, .container = 0, .gained_entries = entries});
    return first_finding(builder.build());
  };
  EXPECT_EQ(found_with(18).kind, Kind::growth);
  EXPECT_EQ(found_with(18).holder, "train.kept (list, len 274)");
  EXPECT_EQ(found_with(0).kind, Kind::growing_buffer);
}

TEST(GrowthDetectorTest, IgnoresSharedMemoryOfWorkersThatRunAhead) {
  EXPECT_EQ(kinds_of(host_with_shared(0)), std::set<Kind>{});
}

TEST(StuckFreeDetectorTest, DetectsFreesThatNeverComplete) {
  EXPECT_EQ(kinds_of(gpu({.waiting = kMebi, .reserved = kMebi})), std::set{Kind::stuck_free});
}

TEST(StuckFreeDetectorTest, IgnoresFreesThatWaitALittle) {
  auto builder = gpu({});
  builder.with({Counter::active_bytes, kGpu}, [](auto step) { return kMebi + (step % 3) * kMebi; });
  EXPECT_TRUE(kinds_of(builder).empty());
}

TEST(PinnedHostDetectorTest, DetectsPageLockedMemoryThatGrows) {
  EXPECT_EQ(kinds_of(gpu({.pinned = 4096})), std::set{Kind::pinned_host});
  // Page-locked memory is mapped, too.
  EXPECT_EQ(kinds_of(gpu({.pinned = 65536, .mapped = 65536})), std::set{Kind::pinned_host});
  EXPECT_EQ(kinds_of(gpu({.pinned = 65536, .mapped = 131072})), (std::set{Kind::pinned_host, Kind::host_heap}));
}

TEST(PinnedHostDetectorTest, IgnoresAStagingBufferThatIsUsedAgain) { EXPECT_TRUE(kinds_of(gpu({})).empty()); }

TEST(RawCudaDetectorTest, DetectsDeviceMemoryOutsideTheAllocator) {
  EXPECT_EQ(kinds_of(gpu({.outside = 2 * kMebi})), std::set{Kind::raw_cuda});
}

TEST(RawCudaDetectorTest, DetectsPrivatePoolsWithoutTensors) {
  EXPECT_TRUE(kinds_of(gpu({.reserved = 2 * kMebi, .private_pool = 2 * kMebi})).contains(Kind::raw_cuda));
}

// Pools that take a segment each in every recorded step, and a list that gained so many graphs.
std::string holder_of_pools(std::int64_t gained) {
  auto builder = gpu({.reserved = 2 * kMebi, .private_pool = 2 * kMebi});
  builder.with_object({.type = "list", .name = "train.graphs", .length = 300})
      .with_holder({.held = 0, .container = 0, .gained_cuda_objects = gained});
  for (std::int64_t step = kSteps - kRecorded + 1; step <= kSteps; ++step) {
    builder.with_survivor(
        {.type = SurvivorType::handle, .device = kGpu, .birth_step = step, .handle = HandleType::private_segment});
  }
  const auto findings = Analysed(builder.build()).findings(RawCudaDetector());
  return findings.size() == 1 ? findings.front().holder : "no finding";
}

TEST(RawCudaDetectorTest, NamesTheContainerThatGainedAGraphForEachPool) {
  EXPECT_EQ(holder_of_pools(kRecorded), "train.graphs (list, len 300)");
}

TEST(RawCudaDetectorTest, NamesNoContainerThatGainedAFewGraphs) { EXPECT_EQ(holder_of_pools(3), ""); }

TEST(RawCudaDetectorTest, AddsWhatTheDriverTakesBesideAPool) {
  const Analysed trace(gpu({.reserved = 2 * kMebi, .private_pool = 2 * kMebi, .outside = kMebi}).build());
  double bytes_per_step = 0;
  for (const auto& detector : all_detectors()) {
    if (detector->kind() != Kind::raw_cuda) continue;
    for (const auto& finding : trace.findings(*detector)) bytes_per_step += finding.bytes_per_step;
  }
  EXPECT_EQ(bytes_per_step, 3 * kMebi);
}

TEST(RawCudaDetectorTest, IgnoresModulesThatAreLoadedLate) {
  auto builder = gpu({});
  builder.with({Counter::outside_bytes, kGpu}, [](auto step) { return (step < 40 ? 500 : 520) * kMebi; });
  EXPECT_TRUE(kinds_of(builder).empty());
}

TEST(OptimizerStateDetectorTest, DetectsStateThatAnOptimizerKeeps) {
  auto builder = leaking(1024, 1, 0);
  keep(builder, {.is_in_optimizer = true});
  EXPECT_TRUE(kinds_of(builder).contains(Kind::optimizer_state));
}

TEST(OptimizerStateDetectorTest, IgnoresTheFewTensorsOfATaskThatRuns) {
  auto builder = leaking(1024, 1, 0);
  keep(builder, {.holder = 0});
  builder.with_holder({}).with_holder({});
  builder.with_survivor({.type = SurvivorType::tensor,
                         .birth_step = kSteps - 8,
                         .storage = 0x77,
                         .bytes = 8,
                         .storage_bytes = 8,
                         .is_optimizer_state = true,
                         .holder = 1});
  EXPECT_FALSE(kinds_of(builder).contains(Kind::optimizer_state));
}

TEST(OptimizerStateDetectorTest, IgnoresWhatOthersKeep) {
  auto builder = leaking(1024, 1, 0);
  keep(builder, {});
  EXPECT_FALSE(kinds_of(builder).contains(Kind::optimizer_state));
}

TEST(BrokenChainTest, TellsWhereActiveFallsBelowLive) {
  auto builder = gpu({});
  builder.with({Counter::active_bytes, kGpu}, [](auto step) { return step == 17 ? kMebi - 1 : kMebi; });
  EXPECT_NE(broken_chain(builder.build()).find("at step 17 on cuda:0"), std::string::npos);
}

TEST(BrokenChainTest, IsSilentWhereAllAreEqual) {
  auto builder = gpu({});
  builder.with({Counter::reserved_bytes, kGpu}, [](auto) { return kMebi; });
  EXPECT_EQ(broken_chain(builder.build()), "");
}

TEST(AllDetectorsTest, AreOfDifferentKinds) {
  std::set<Kind> kinds;
  for (const auto& detector : all_detectors()) EXPECT_TRUE(kinds.insert(detector->kind()).second);
  EXPECT_EQ(kinds.size(), static_cast<std::size_t>(kKindCount));
}

}  // namespace
}  // namespace stepleak
