// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

// The assertions as an engineer meets them: when they pass, when they fail, and what the failure says.

#include <ATen/ATen.h>
#include <gtest/gtest-spi.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "stepleak/gtest.hpp"

namespace stepleak {
namespace {

/// A small training; what it keeps is up to its users.
class Training {
 public:
  at::Tensor loss_of_batch() {
    const auto outputs = at::rand({4, 16}).matmul(weights_);
    return outputs.square().mean();
  }

  void train_step() {
    weights_.mutable_grad() = at::Tensor();
    loss_of_batch().backward();
  }

  // The mistake of these tests: each loss is kept with its graph.
  void train_step_and_log() {
    weights_.mutable_grad() = at::Tensor();
    const auto loss = loss_of_batch();
    loss.backward();
    losses_.push_back(loss);
  }

  // The near miss: the number alone.
  void train_step_and_log_number() {
    weights_.mutable_grad() = at::Tensor();
    const auto loss = loss_of_batch();
    loss.backward();
    total_ += loss.item<double>();
  }

  void log_twice() { losses_.push_back(loss_of_batch() * 2); }

  void keep_batch() { batches_.push_back(at::rand({16, 16})); }

 private:
  at::Tensor weights_ = at::rand({16, 16}).requires_grad_();
  std::vector<at::Tensor> losses_;
  std::vector<at::Tensor> batches_;
  double total_ = 0;
};

/// What assertions report while it lives, instead of failing the test that runs.
class CaughtFailures {
 public:
  template <typename Statement>
  explicit CaughtFailures(const Statement& statement) {
    const testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results_);
    statement();
  }
  [[nodiscard]] int count() const { return results_.size(); }
  [[nodiscard]] bool is_fatal() const { return count() == 1 && results_.GetTestPartResult(0).fatally_failed(); }
  [[nodiscard]] std::string message() const { return count() == 1 ? results_.GetTestPartResult(0).message() : ""; }
  [[nodiscard]] std::string file() const {
    const char* file = count() == 1 ? results_.GetTestPartResult(0).file_name() : nullptr;
    return file == nullptr ? "" : file;
  }
  [[nodiscard]] int line() const { return count() == 1 ? results_.GetTestPartResult(0).line_number() : 0; }

 private:
  testing::TestPartResultArray results_;
};

testing::AssertionResult says(const std::string& message, const std::string& part) {
  if (message.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << part << "' is not in:\n" << message;
}

Options quick() { return {.effort = "quick"}; }
Options quick_on_cpu() { return {.device = "cpu", .effort = "quick"}; }

Training& shared_training() {
  static Training training;
  return training;
}

/// Transitions that the set-up has filled a buffer with.
std::vector<at::Tensor> filled_before(int count) {
  std::vector<at::Tensor> transitions;
  for (int i = 0; i < count; ++i) transitions.push_back(at::rand({64}));
  return transitions;
}

// gtest-spi runs the statement of a fatal failure in a static function: nothing local is seen there.
void assert_no_leak_in_shared_training() {
  ASSERT_NO_GPU_LEAK([] { shared_training().train_step_and_log(); }, quick());
  FAIL() << "the test went on after a fatal failure";
}

// --- EXPECT_NO_GPU_LEAK
// -----------------------------------------------------------------------------------------------

TEST(ExpectNoGpuLeakTest, PassesWhereStepKeepsNothing) {
  Training training;
  EXPECT_NO_GPU_LEAK([&] { training.train_step(); });
}

TEST(ExpectNoGpuLeakTest, PassesWhereStepKeepsNumbers) {
  Training training;
  EXPECT_NO_GPU_LEAK([&] { training.train_step_and_log_number(); });
}

TEST(ExpectNoGpuLeakTest, KeepsTheReportOfAPassingStepAsAProperty) {
  Training training;
  EXPECT_NO_GPU_LEAK([&] { training.train_step(); });
  const auto* result = testing::UnitTest::GetInstance()->current_test_info()->result();
  ASSERT_EQ(result->test_property_count(), 1);
  EXPECT_STREQ(result->GetTestProperty(0).key(), "stepleak");
  EXPECT_TRUE(says(result->GetTestProperty(0).value(), "is clean on"));
  EXPECT_TRUE(says(result->GetTestProperty(0).value(), "would also have caught"));
}

TEST(ExpectNoGpuLeakTest, PrintsVerdictsAndKindsByTheirNames) {
  EXPECT_EQ(testing::PrintToString(Verdict::inconclusive), "inconclusive");
  EXPECT_EQ(testing::PrintToString(Kind::graph_retention), "graph_retention");
}

TEST(ExpectNoGpuLeakTest, FailsNonfatallyWhereStepKeepsItsLoss) {
  EXPECT_NONFATAL_FAILURE(EXPECT_NO_GPU_LEAK([] { shared_training().train_step_and_log(); }), "graph_retention");
}

TEST(ExpectNoGpuLeakTest, TellsWhatLeaksAndWhere) {
  Training training;
  const CaughtFailures failures([&] { EXPECT_NO_GPU_LEAK([&] { training.train_step_and_log(); }); });
  const int line = __LINE__ - 1;
  ASSERT_EQ(failures.count(), 1);
  EXPECT_FALSE(failures.is_fatal());
  // An editor jumps to the assertion...
  EXPECT_TRUE(says(failures.file(), "leak_assertions_test.cpp"));
  EXPECT_EQ(failures.line(), line);
  // ...and the report says which test, how much, what, and on which line it was made.
  const auto message = failures.message();
  EXPECT_TRUE(says(message, "ExpectNoGpuLeakTest.TellsWhatLeaksAndWhere leaks "));
  EXPECT_TRUE(says(message, "/step on cpu · graph_retention"));
  EXPECT_TRUE(says(message, "autograd nodes"));
  EXPECT_TRUE(says(message, "leak_assertions_test.cpp:"));
  EXPECT_TRUE(says(message, "loss_of_batch"));
  EXPECT_TRUE(says(message, "outputs.square().mean()"));
  EXPECT_TRUE(says(message, "  fix "));
  EXPECT_TRUE(says(message, "this run would also have caught"));
}

TEST(ExpectNoGpuLeakTest, SaysThatCpuMemoryWasJudged) {
  Training training;
  const CaughtFailures failures([&] { EXPECT_NO_GPU_LEAK([&] { training.keep_batch(); }, quick_on_cpu()); });
  EXPECT_TRUE(says(failures.message(), "CPU memory was judged"));
}

TEST(ExpectNoGpuLeakTest, FailsWhereStepKeepsPlainTensors) {
  Training training;
  const CaughtFailures failures([&] { EXPECT_NO_GPU_LEAK([&] { training.keep_batch(); }); });
  // 16 x 16 floats a step in a block, and half a kilobyte of heap for the tensor itself, once that is known.
  EXPECT_TRUE(says(failures.message(), "1.0 KiB of 1.0 KiB"));
  EXPECT_TRUE(says(failures.message(), "leaks 1.") || says(failures.message(), "leaks at least 1.0 KiB"));
  EXPECT_TRUE(says(failures.message(), "KiB/step on cpu · growth"));
  EXPECT_TRUE(says(failures.message(), "leak_assertions_test.cpp:"));
  EXPECT_TRUE(says(failures.message(), "keep_batch() {"));
}

TEST(ExpectNoGpuLeakTest, PassesWhereEachStepReplacesWhatTheSetUpMade) {
  auto transitions = filled_before(2000);
  EXPECT_NO_GPU_LEAK([&](std::int64_t index) { transitions[static_cast<std::size_t>(index) % 2000] = at::rand({64}); });
}

TEST(ExpectNoGpuLeakTest, FailsWhereEachStepAppendsToWhatTheSetUpMade) {
  auto transitions = filled_before(2000);
  const CaughtFailures failures([&] { EXPECT_NO_GPU_LEAK([&] { transitions.push_back(at::rand({64})); }); });
  EXPECT_TRUE(says(failures.message(), "1 block of a tensor (float, 1-dim, 256 B of 256 B) stays of every step"))
      << failures.message();
}

TEST(ExpectNoGpuLeakTest, LetsTheTestGoOn) {
  Training training;
  bool went_on = false;
  const CaughtFailures failures([&] {
    EXPECT_NO_GPU_LEAK([&] { training.train_step_and_log(); }, quick());
    went_on = true;
  });
  EXPECT_EQ(failures.count(), 1);
  EXPECT_TRUE(went_on);
}

TEST(ExpectNoGpuLeakTest, JudgesEachAssertionOnItsOwn) {
  Training leaky;
  Training clean;
  const CaughtFailures failures([&] { EXPECT_NO_GPU_LEAK([&] { leaky.train_step_and_log(); }, quick()); });
  EXPECT_EQ(failures.count(), 1);
  EXPECT_NO_GPU_LEAK([&] { clean.train_step(); });
}

TEST(ExpectNoGpuLeakTest, DoesNotBlameWhatAnEarlierStepKept) {
  Training earlier;
  Training later;
  const CaughtFailures first([&] { EXPECT_NO_GPU_LEAK([&] { earlier.train_step_and_log(); }, quick()); });
  ASSERT_EQ(first.count(), 1);
  const CaughtFailures second([&] { EXPECT_NO_GPU_LEAK([&] { later.log_twice(); }, quick()); });
  ASSERT_EQ(second.count(), 1);
  EXPECT_TRUE(says(second.message(), "losses_.push_back(loss_of_batch() * 2)"));
  // The earlier losses are alive: they do not grow now.
  EXPECT_FALSE(says(second.message(), "train_step_and_log"));
}

// --- steps and options
// ------------------------------------------------------------------------------------------------

TEST(LeakAssertionStepTest, HandsTheIndexToStepThatTakesIt) {
  std::vector<std::int64_t> indices;
  indices.reserve(4096);
  EXPECT_NO_GPU_LEAK([&](std::int64_t index) { indices.push_back(index); });
  ASSERT_GE(indices.size(), 64U);
  for (std::size_t i = 0; i < indices.size(); ++i) EXPECT_EQ(indices[i], static_cast<std::int64_t>(i));
}

TEST(LeakAssertionStepTest, TakesMutableCallable) {
  EXPECT_NO_GPU_LEAK([count = 0]() mutable { ++count; });
}

TEST(LeakAssertionStepTest, TakesPlainFunction) {
  struct Steps {
    static void step() { (void)at::rand({4}); }
  };
  EXPECT_NO_GPU_LEAK(&Steps::step);
}

TEST(LeakAssertionOptionsTest, QuickNeedsFewerSteps) {
  std::int64_t steps = 0;
  EXPECT_NO_GPU_LEAK([&] { ++steps; }, Options{.effort = "quick"});
  // Sixteen where the host heap has settled by then.
  EXPECT_GE(steps, 16);
  EXPECT_LT(steps, 64);
}

TEST(LeakAssertionOptionsTest, StandardNeedsSixtyFourSteps) {
  std::int64_t steps = 0;
  EXPECT_NO_GPU_LEAK([&] { ++steps; });
  EXPECT_EQ(steps, 64);
}

TEST(LeakAssertionOptionsTest, FailsOnUnknownEffort) {
  const CaughtFailures failures([] { EXPECT_NO_GPU_LEAK([] {}, Options{.effort = "nonsense"}); });
  ASSERT_EQ(failures.count(), 1);
  EXPECT_TRUE(says(failures.message(), "'nonsense' is no effort"));
  EXPECT_TRUE(says(failures.message(), "use quick, standard or nightly"));
}

TEST(LeakAssertionOptionsTest, FailsOnTooFewSteps) {
  const CaughtFailures failures([] { EXPECT_NO_GPU_LEAK([] {}, Options{.steps = 8}); });
  EXPECT_TRUE(says(failures.message(), "8 steps are too few to judge"));
  EXPECT_TRUE(says(failures.message(), "give 16 steps at least"));
}

TEST(LeakAssertionOptionsTest, FailsOnNegativePeriod) {
  const CaughtFailures failures([] { EXPECT_NO_GPU_LEAK([] {}, Options{.period = -1}); });
  EXPECT_TRUE(says(failures.message(), "must not be negative"));
}

TEST(LeakAssertionOptionsTest, FailsOnUnknownDevice) {
  const CaughtFailures failures([] { EXPECT_NO_GPU_LEAK([] {}, Options{.device = "toaster"}); });
  ASSERT_EQ(failures.count(), 1);
  EXPECT_TRUE(says(failures.message(), "toaster"));
}

TEST(LeakAssertionOptionsTest, WrongOptionFailsExpectedLeakToo) {
  const CaughtFailures failures([] { EXPECT_GPU_LEAK([] {}, Kind::growth, Options{.effort = "nonsense"}); });
  EXPECT_TRUE(says(failures.message(), "'nonsense' is no effort"));
}

// --- steps that fail
// --------------------------------------------------------------------------------------------------

TEST(FailingStepTest, FailsWithWhatTheStepThrew) {
  const CaughtFailures failures([] {
    EXPECT_NO_GPU_LEAK([](std::int64_t index) {
      if (index == 4) throw std::runtime_error("no more batches");
    });
  });
  ASSERT_EQ(failures.count(), 1);
  EXPECT_TRUE(says(failures.message(), "no more batches"));
  EXPECT_TRUE(says(failures.message(), "in step 5"));
}

TEST(FailingStepTest, FailsWhereStepThrowsNoStdException) {
  const CaughtFailures failures([] { EXPECT_NO_GPU_LEAK([] { throw 7; }); });
  EXPECT_TRUE(says(failures.message(), "something that is no std::exception"));
}

TEST(FailingStepTest, IsNoLeakOfAnyKind) {
  const CaughtFailures failures([] { EXPECT_GPU_LEAK([] { throw std::runtime_error("boom"); }, Kind::growth); });
  ASSERT_EQ(failures.count(), 1);
  EXPECT_TRUE(says(failures.message(), "expected a leak of kind growth"));
  EXPECT_TRUE(says(failures.message(), "boom"));
}

TEST(FailingStepTest, LeavesTheNextAssertionAlone) {
  const CaughtFailures failures([] { EXPECT_NO_GPU_LEAK([] { throw std::runtime_error("boom"); }); });
  EXPECT_EQ(failures.count(), 1);
  Training training;
  EXPECT_NO_GPU_LEAK([&] { training.train_step(); });
}

TEST(UnsettledStepTest, FailsWhereNoVerdictIsReached) {
  Training training;
  const CaughtFailures failures([&] {
    EXPECT_NO_GPU_LEAK(
        [&](std::int64_t index) {
          if (index == 20 || index == 60 || index == 61) training.keep_batch();
        },
        Options{.steps = 64});
  });
  ASSERT_EQ(failures.count(), 1);
  EXPECT_TRUE(says(failures.message(), "is inconclusive"));
  EXPECT_TRUE(says(failures.message(), "let it run 128 steps"));
}

// --- ASSERT_NO_GPU_LEAK
// -----------------------------------------------------------------------------------------------

TEST(AssertNoGpuLeakTest, PassesAndGoesOnWhereStepIsClean) {
  Training training;
  bool went_on = false;
  [&] {
    ASSERT_NO_GPU_LEAK([&] { training.train_step(); });
    went_on = true;
  }();
  EXPECT_TRUE(went_on);
}

TEST(AssertNoGpuLeakTest, EndsTheTestWhereStepLeaks) {
  EXPECT_FATAL_FAILURE(assert_no_leak_in_shared_training(), "graph_retention");
}

// --- EXPECT_GPU_LEAK
// --------------------------------------------------------------------------------------------------

TEST(ExpectGpuLeakTest, PassesWhereStepLeaksInThisWay) {
  Training training;
  EXPECT_GPU_LEAK([&] { training.train_step_and_log(); }, Kind::graph_retention);
}

TEST(ExpectGpuLeakTest, TakesOptions) {
  Training training;
  EXPECT_GPU_LEAK([&] { training.train_step_and_log(); }, Kind::graph_retention, quick());
}

TEST(ExpectGpuLeakTest, FailsWhereStepLeaksInAnotherWay) {
  Training training;
  const CaughtFailures failures(
      [&] { EXPECT_GPU_LEAK([&] { training.train_step_and_log(); }, Kind::reference_cycle, quick()); });
  ASSERT_EQ(failures.count(), 1);
  EXPECT_FALSE(failures.is_fatal());
  EXPECT_TRUE(says(failures.message(), "expected a leak of kind reference_cycle, but:"));
  EXPECT_TRUE(says(failures.message(), "graph_retention"));
}

TEST(ExpectGpuLeakTest, FailsWhereStepIsClean) {
  Training training;
  const CaughtFailures failures([&] { EXPECT_GPU_LEAK([&] { training.train_step(); }, Kind::graph_retention); });
  ASSERT_EQ(failures.count(), 1);
  EXPECT_TRUE(says(failures.message(), "expected a leak of kind graph_retention, but:"));
  EXPECT_TRUE(says(failures.message(), "is clean on c"));
}

}  // namespace
}  // namespace stepleak
