// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/session/session.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace stepleak {
namespace {

constexpr std::int64_t kBlockBytes = 512;

/// The ledgers of a step that keeps one block in every so-many-th step.
class KeepingProbe final : public Probe {
 public:
  explicit KeepingProbe(std::int64_t every) : every_(every) {}

  [[nodiscard]] std::string_view name() const override { return "keeping"; }
  [[nodiscard]] std::vector<SeriesKey> keys() const override {
    return {{Counter::live_bytes}, {Counter::live_blocks}, {Counter::heap_bytes}};
  }
  void begin_step(std::int64_t step) override { step_ = step; }
  void read(Moment /*moment*/, std::span<std::int64_t> row) override {
    row[1] = step_ / every_;
    row[0] = row[2] = kBlockBytes * row[1];
  }
  void read_cohorts(std::vector<CohortTable>& tables) override {
    CohortTable table{kHost, step_, {}};
    for (auto birth = every_; birth <= step_; birth += every_) table.cohorts.push_back({birth, kBlockBytes, 1});
    tables.push_back(table);
  }
  void read_blocks(Trace& trace) override {
    for (auto birth = every_; birth < step_; birth += every_) {
      trace.survivors.push_back({.birth_step = birth, .bytes = kBlockBytes});
    }
  }

 private:
  std::int64_t every_;
  std::int64_t step_ = 0;
};

Result result_of(KeepingProbe& probe, const Step& step, std::int64_t explain_stride) {
  return run_session({.target = "step",
                      .policy = policy_of(Effort::standard),
                      .runner = {.step = step, .probes = {&probe}},
                      .explain_stride = explain_stride});
}

Step failing_in_step_13(const std::string& what) {
  return [what](std::int64_t index) {
    if (index == 12) throw std::runtime_error(what);
  };
}

const Step kNoStep = [](std::int64_t) {};

TEST(SessionTest, RecordsEverySoManyStepsOfALeakInEachStep) {
  KeepingProbe probe(1);
  const auto result = result_of(probe, kNoStep, 7);
  EXPECT_EQ(result.verdict, Verdict::leak);
  EXPECT_EQ(result.trace.explain_stride, 7);
  EXPECT_EQ(result.trace.explained_steps, 29);
  EXPECT_EQ(result.trace.proof_steps(), 4);
}

TEST(SessionTest, RecordsEachStepWhereNotAskedForLess) {
  KeepingProbe probe(1);
  const auto result = result_of(probe, kNoStep, 1);
  EXPECT_EQ(result.verdict, Verdict::leak);
  EXPECT_EQ(result.trace.explain_stride, 1);
  EXPECT_EQ(result.trace.explained_steps, 18);
}

TEST(SessionTest, RecordsEachStepOfARarerLeakForFourOfItsEvents) {
  KeepingProbe probe(6);
  const auto result = result_of(probe, kNoStep, 7);
  EXPECT_EQ(result.verdict, Verdict::leak);
  EXPECT_EQ(result.trace.explain_stride, 1);
  EXPECT_EQ(result.trace.explained_steps, 24);
}

TEST(SessionTest, TellsWhatIsLiveWhereMemoryRanOut) {
  KeepingProbe probe(1);
  const auto result = result_of(probe, failing_in_step_13("CUDA out of memory. Tried to allocate 2.00 GiB"), 7);
  ASSERT_EQ(result.verdict, Verdict::failure);
  ASSERT_TRUE(result.failure.has_value());
  EXPECT_EQ(result.failure->memory.blocks, 12);
  EXPECT_EQ(result.failure->memory.bytes, 12 * kBlockBytes);
  EXPECT_EQ(result.failure->memory.newest.front().last_step, 12);
  EXPECT_EQ(result.steps, 12);
}

TEST(SessionTest, TellsNothingOfMemoryWhereTheStepFailedOtherwise) {
  KeepingProbe probe(1);
  const auto result = result_of(probe, failing_in_step_13("no more batches"), 7);
  ASSERT_TRUE(result.failure.has_value());
  EXPECT_EQ(result.failure->memory.blocks, 0);
}

}  // namespace
}  // namespace stepleak
