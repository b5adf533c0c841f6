// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/runner/runner.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace stepleak {
namespace {

/// Notes in which steps stacks are recorded.
class RecordingProbe final : public Probe {
 public:
  [[nodiscard]] std::string_view name() const override { return "recording"; }
  [[nodiscard]] std::vector<SeriesKey> keys() const override { return {{Counter::live_bytes}}; }
  void record_stacks(bool is_recording) override { is_recording_ = is_recording; }
  void begin_step(std::int64_t step) override {
    if (is_recording_) recorded_.push_back(step);
  }
  void settle() override { ++settled_; }
  void read(Moment /*moment*/, std::span<std::int64_t> row) override { row[0] = 0; }

  [[nodiscard]] bool is_recording() const { return is_recording_; }
  [[nodiscard]] const std::vector<std::int64_t>& recorded() const { return recorded_; }
  [[nodiscard]] int settled() const { return settled_; }

 private:
  bool is_recording_ = false;
  std::vector<std::int64_t> recorded_;
  int settled_ = 0;
};

using Steps = std::vector<std::int64_t>;

TEST(RunnerTest, RecordsStacksInFewStepsOfTheScreenPassAndInNoneAfterIt) {
  RecordingProbe probe;
  Runner runner({.step = [](std::int64_t) {}, .probes = {&probe}});
  runner.start();
  runner.run_to(64);
  EXPECT_EQ(probe.recorded(), (Steps{1, 4, 16, 64}));
  EXPECT_FALSE(probe.is_recording());
  EXPECT_EQ(probe.settled(), 1);
  runner.run_to(300);
  EXPECT_EQ(probe.recorded(), (Steps{1, 4, 16, 64, 256}));
}

TEST(RunnerTest, RecordsEverySoManyStepsOfTheExplainPassTheLastIncluded) {
  RecordingProbe probe;
  Runner runner({.step = [](std::int64_t) {}, .probes = {&probe}});
  runner.start();
  runner.run_to(2);
  runner.explain(29, 7);
  EXPECT_EQ(probe.recorded(), (Steps{1, 3, 10, 17, 24, 31}));
  EXPECT_FALSE(probe.is_recording());
  EXPECT_EQ(probe.settled(), 2);
  runner.run_to(34);
  runner.explain(3, 1);
  EXPECT_EQ(probe.recorded(), (Steps{1, 3, 10, 17, 24, 31, 35, 36, 37}));
}

TEST(RunnerTest, RecordsNothingAfterAStepThatFailed) {
  RecordingProbe probe;
  Runner runner({.step =
                     [](std::int64_t index) {
                       if (index == 15) throw std::runtime_error("CUDA out of memory. Tried to allocate 2 GiB");
                     },
                 .probes = {&probe}});
  runner.start();
  try {
    runner.run_to(32);
    FAIL() << "the step's failure was lost";
  } catch (const StepFailure& failure) {
    EXPECT_TRUE(failure.is_out_of_memory());
    EXPECT_FALSE(failure.remedy().empty());
  }
  EXPECT_EQ(probe.recorded(), (Steps{1, 4, 16}));
  EXPECT_FALSE(probe.is_recording());
  EXPECT_EQ(runner.trace().step_count(), 15);
}

TEST(RunnerTest, TellsOtherFailuresFromMemoryThatRanOut) {
  Runner runner({.step = [](std::int64_t) { throw std::runtime_error("no more batches"); }});
  runner.start();
  try {
    runner.run_to(1);
    FAIL() << "the step's failure was lost";
  } catch (const StepFailure& failure) {
    EXPECT_FALSE(failure.is_out_of_memory());
    EXPECT_EQ(failure.remedy(), "");
  }
}

}  // namespace
}  // namespace stepleak
