// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>

#include "detectors/graph_retention/graph_retention_detector.hpp"
#include "detectors/host_heap/host_heap_detector.hpp"
#include "harness/drive/repeat.hpp"
#include "harness/explain/conclusion.hpp"
#include "harness/session/session.hpp"

namespace stepleak {
namespace {

constexpr std::int64_t kStepBytes = 2048;

/// The ledgers of a step that keeps no tensor, and so many bytes of the heap.
class GrowingHeapProbe final : public Probe {
 public:
  explicit GrowingHeapProbe(std::int64_t (*held)(std::int64_t) = [](std::int64_t step) { return kStepBytes * step; })
      : held_(held) {}
  [[nodiscard]] std::string_view name() const override { return "growing heap"; }
  [[nodiscard]] std::vector<SeriesKey> keys() const override {
    return {{Counter::live_bytes}, {Counter::live_blocks}, {Counter::heap_bytes}};
  }
  void begin_step(std::int64_t step) override { step_ = step; }
  void read(Moment /*moment*/, std::span<std::int64_t> row) override {
    row[0] = 4096;
    row[1] = 1;
    row[2] = 1'000'000 + held_(step_);
  }

 private:
  std::int64_t (*held_)(std::int64_t);
  std::int64_t step_ = 0;
};

/// Finds a list that gained so many bytes in each recorded step.
class WeighedListSearch final : public HolderSearch {
 public:
  WeighedListSearch(StructureType type, std::int64_t bytes, std::int64_t length = 40)
      : type_(type), bytes_(bytes), length_(length) {}
  void search(Recording& recording) override {
    recording.objects.nodes.push_back({.type = "list", .name = "train.kept", .length = length_});
    recording.holders.push_back({.held = 0,
                                 .container = 0,
                                 .structure = {.type = type_},
                                 .gained_bytes = bytes_ * recording.steps,
                                 .is_weighed = true});
  }

 private:
  StructureType type_;
  std::int64_t bytes_;
  std::int64_t length_;
};

Result result_of(HolderSearch& search) {
  GrowingHeapProbe probe;
  const HostHeapDetector detector;
  SessionParts parts{
      .target = "step", .facts = {.has_python = true}, .observer = {.probes = {&probe}}, .holder_searches = {&search}};
  parts.detectors = {&detector};
  Session session(parts);
  return conclude(repeat([](std::int64_t) {}, session), parts.detectors);
}

Result result_of(StructureType type, std::int64_t bytes) {
  WeighedListSearch search(type, bytes);
  return result_of(search);
}

TEST(HeapSessionTest, CallsALeakAtOnceWhereAContainerThatNothingBoundsGainedIt) {
  const auto result = result_of(StructureType::unbounded, kStepBytes);
  EXPECT_EQ(result.verdict, Verdict::leak);
  EXPECT_LE(result.trace.step_count(), 64);
}

TEST(HeapSessionTest, ConfirmsALeakByItsTrendWhereAContainerGainedItAndItsStructureIsNotKnown) {
  const auto result = result_of(StructureType::unknown, kStepBytes);
  EXPECT_EQ(result.verdict, Verdict::leak);
  EXPECT_GE(result.trace.step_count(), 256);
  EXPECT_LT(result.trace.step_count(), 512);
}

TEST(HeapSessionTest, ConfirmsTheHeapForTwiceAsLongWhereSomethingEmptiesTheContainer) {
  EXPECT_GE(result_of(StructureType::reset, kStepBytes).trace.step_count(), 512);
}

std::int64_t doubling(std::int64_t step) {
  std::int64_t bytes = kStepBytes;
  while (bytes < kStepBytes * step) bytes *= 2;
  return bytes;
}

/// Of a step whose heap is one buffer that doubles, which no search finds.
Verdict verdict_on_doubling(bool has_python) {
  GrowingHeapProbe probe(doubling);
  const HostHeapDetector detector;
  SessionParts parts{.target = "step", .facts = {.has_python = has_python}, .observer = {.probes = {&probe}}};
  parts.detectors = {&detector};
  Session session(parts);
  return conclude(repeat([](std::int64_t) {}, session), parts.detectors).verdict;
}

TEST(HeapSessionTest, TakesABufferThatDoublesForALeakButWhereContainersOfPythonWouldHaveBeenSeen) {
  EXPECT_EQ(verdict_on_doubling(false), Verdict::leak);
  EXPECT_EQ(verdict_on_doubling(true), Verdict::inconclusive);
}

/// The ledgers of a step that keeps a block, all of which go at one step.
class ClearedBlocksProbe final : public Probe {
 public:
  explicit ClearedBlocksProbe(std::int64_t cleared_at) : cleared_at_(cleared_at) {}
  [[nodiscard]] std::string_view name() const override { return "cleared blocks"; }
  [[nodiscard]] std::vector<SeriesKey> keys() const override { return {{Counter::live_bytes}, {Counter::live_blocks}}; }
  void begin_step(std::int64_t step) override { step_ = step; }
  void read(Moment /*moment*/, std::span<std::int64_t> row) override {
    row[1] = step_ < cleared_at_ ? step_ : step_ - cleared_at_;
    row[0] = kStepBytes * row[1];
  }

 private:
  std::int64_t cleared_at_;
  std::int64_t step_ = 0;
};

/// Finds what the list of a WeighedListSearch keeps.
class KeptByListDetector final : public Detector {
 public:
  [[nodiscard]] Kind kind() const override { return Kind::growth; }
  [[nodiscard]] std::vector<Finding> detect(const Evidence& evidence) const override {
    return {Finding{.bytes_per_step = kStepBytes,
                    .holder_index = evidence.recording.is_empty() ? -1 : 0,
                    .kept_count = 12,
                    .explained_steps = 16,
                    .accounts_for = {{Counter::live_bytes}}}};
  }
};

std::int64_t steps_until_judged(std::int64_t cleared_at, std::int64_t length) {
  ClearedBlocksProbe probe(cleared_at);
  WeighedListSearch search(StructureType::unknown, kStepBytes, length);
  const KeptByListDetector detector;
  SessionParts parts{
      .target = "step", .facts = {.has_python = true}, .observer = {.probes = {&probe}}, .holder_searches = {&search}};
  parts.detectors = {&detector};
  Session session(parts);
  return conclude(repeat([](std::int64_t) {}, session), parts.detectors).trace.step_count();
}

TEST(HeapSessionTest, GoesOnWhereAllThatGrewWasClearedWhileItWasRecorded) {
  EXPECT_LT(steps_until_judged(400, 274), 300);
  EXPECT_GT(steps_until_judged(260, 14), 300);
  EXPECT_LT(steps_until_judged(260, 270), 300) << "it is another list";
}

/// Finds a list that holds so many, may hold so many more, and gained so many entries in each recorded step.
class EmptiedListSearch final : public HolderSearch {
 public:
  explicit EmptiedListSearch(std::int64_t entries, std::int64_t bound = 100, std::int64_t length = 2)
      : entries_(entries), bound_(bound), length_(length) {}
  void search(Recording& recording) override {
    recording.objects.nodes.push_back({.type = "list", .name = "train.rows", .length = length_});
    recording.holders.push_back({.held = 0,
                                 .container = 0,
                                 .structure = {.type = StructureType::bounded, .bound = bound_},
                                 .gained_entries = entries_ * recording.steps,
                                 .gained_bytes = kStepBytes * recording.steps,
                                 .is_weighed = true});
  }

 private:
  std::int64_t entries_;
  std::int64_t bound_;
  std::int64_t length_;
};

bool is_filled(std::int64_t entries, std::int64_t bound = 100, std::int64_t length = 2) {
  EmptiedListSearch search(entries, bound, length);
  const auto result = result_of(search);
  const auto& passes = result.trace.passes();
  return std::any_of(passes.begin(), passes.end(), [](const Pass& pass) { return pass.type == PassType::fill; });
}

TEST(HeapSessionTest, FillsAContainerAtTheRateOfTheRecordedStepsWhereItHasBeenEmptied) {
  EXPECT_TRUE(is_filled(1));
  // At that of all steps it would be full long after the budget.
  EXPECT_FALSE(is_filled(0));
}

TEST(HeapSessionTest, FillsAContainerForAsManyStepsAsReplaceWhatItHolds) {
  EXPECT_TRUE(is_filled(33, 2000, 1700));
  EXPECT_TRUE(is_filled(33, 20000, 1700)) << "it filled at the same rate before";
  EXPECT_FALSE(is_filled(33, 20000, 500));
  EXPECT_FALSE(is_filled(33, 40000, 1700));
}

TEST(HeapSessionTest, RunsOnToTheBudgetWhereAContainerThatItCannotFillHasBeenEmptied) {
  EmptiedListSearch emptied(1, 5000);
  EXPECT_EQ(result_of(emptied).trace.step_count(), Policy{}.budget_steps);
  EmptiedListSearch filling(0, 5000);
  EXPECT_LT(result_of(filling).trace.step_count(), Policy{}.budget_steps);
}

/// Autograd nodes on a GPU, which are seen in record passes only: of each recorded step, or of the first.
class KeptNodesProbe final : public Probe {
 public:
  explicit KeptNodesProbe(bool is_each_kept) : is_each_kept_(is_each_kept) {}
  [[nodiscard]] std::string_view name() const override { return "kept nodes"; }
  [[nodiscard]] std::vector<SeriesKey> keys() const override { return {}; }
  void read(Moment /*moment*/, std::span<std::int64_t> /*row*/) override {}
  void end_record(Recording& recording) override {
    const auto first = recording.pass.first_step;
    for (std::int64_t step = first; step < (is_each_kept_ ? first + recording.steps : first + 1); ++step) {
      recording.survivors.push_back({.type = SurvivorType::node, .birth_step = step, .name = "AddBackward0"});
    }
  }

 private:
  bool is_each_kept_;
};

std::int64_t steps_with_nodes(bool is_each_kept) {
  GrowingHeapProbe heap;
  KeptNodesProbe nodes(is_each_kept);
  const GraphRetentionDetector graphs;
  const HostHeapDetector detector;
  SessionParts parts{.target = "step", .observer = {.probes = {&heap, &nodes}}};
  parts.detectors = {&graphs, &detector};
  Session session(parts);
  const auto result = conclude(repeat([](std::int64_t) {}, session), parts.detectors);
  EXPECT_EQ(result.verdict, Verdict::leak);
  return result.trace.step_count();
}

TEST(HeapSessionTest, ConfirmsALeakByItsTrendWhereNodesOfEachRecordedStepStay) {
  EXPECT_LT(steps_with_nodes(true), 512);
  EXPECT_GE(steps_with_nodes(false), 512);
}

TEST(HeapSessionTest, ConfirmsTheHeapForTwiceAsLongWhereNoContainerGainedIt) {
  const auto result = result_of(StructureType::unbounded, 32);
  EXPECT_EQ(result.verdict, Verdict::leak);
  EXPECT_GE(result.trace.step_count(), 512);
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings.front().holder, "");
}

}  // namespace
}  // namespace stepleak
