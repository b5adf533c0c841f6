// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Tests as an engineer has them, which know nothing of stepleak: linked with its main(), each is judged. Their names
// say what must come of them.

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "stepleak/gtest.hpp"

namespace {

at::Tensor trained(at::Tensor& weights) {
  weights.mutable_grad() = at::Tensor();
  const auto loss = at::rand({4, 16}).matmul(weights).square().mean();
  loss.backward();
  return loss;
}

TEST(LossTest, LeaksEachLoss) {
  static at::Tensor weights = at::rand({16, 16}).requires_grad_();
  static std::vector<at::Tensor> kept;
  kept.push_back(trained(weights));
}

// Shared by the tests of a suite, and filled by one of them.
class TrainerTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { weights = at::rand({16, 16}).requires_grad_(); }
  static void TearDownTestSuite() {
    weights = at::Tensor();
    of_the_suite.clear();
  }

  static inline at::Tensor weights;
  static inline std::vector<at::Tensor> of_the_suite;
  static inline at::Tensor last;
};

TEST_F(TrainerTest, CleanStep) { EXPECT_GE(trained(weights).item<float>(), 0); }
TEST_F(TrainerTest, CleanWhereOnlyTheLastIsKept) { last = trained(weights); }
TEST_F(TrainerTest, CleanWhereTheSuiteTearsDown) {
  for (int i = 0; i < 8; ++i) of_the_suite.push_back(trained(weights));
}

// Set-up and tear-down of a suite may leak too: nothing that a test has made.
class SuiteLeakTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static std::vector<at::Tensor> kept;
    kept.push_back(at::ones({32}));
  }
};
TEST_F(SuiteLeakTest, CleanItself) { at::ones({8}); }

// What one test keeps the other lets go of.
std::vector<at::Tensor> queue;
TEST(QueueTest, CleanWhereAnotherTestDrains) { queue.push_back(at::ones({64})); }
TEST(QueueTest, CleanWhereItDrainsAnothers) { queue.clear(); }

// Memory of malloc's, which no tensor has, and which the suite lets go of.
class HeapTest : public testing::Test {
 protected:
  static void TearDownTestSuite() { of_the_suite.clear(); }
  static inline std::vector<std::unique_ptr<char[]>> for_ever;
  static inline std::vector<std::unique_ptr<char[]>> of_the_suite;
};
TEST_F(HeapTest, CleanBytesOfTheSuite) { of_the_suite.push_back(std::make_unique<char[]>(4096)); }

// The same beside one that keeps as much, whose line is seen: whether this one keeps some, too, is told where it runs
// alone.
class MixedHeapTest : public HeapTest {};
TEST_F(MixedHeapTest, MixedCleanAlone) { of_the_suite.push_back(std::make_unique<char[]>(4096)); }
TEST_F(MixedHeapTest, LeaksBytes) { for_ever.push_back(std::make_unique<char[]>(4096)); }

// A thread that goes on for ever takes the stack that another test's thread has left, which so needs a new one.
TEST(StackTest, MixedCleanAlone) {
  std::thread([] {}).join();
}
TEST(StackTest, LeaksTensorsOfAThread) {
  static std::mutex& closed = *[] {
    auto* gate = new std::mutex;
    gate->lock();
    return gate;
  }();
  std::thread([batch = at::ones({256})] { closed.lock(); }).detach();
}

class BatchTest : public testing::TestWithParam<int> {};
TEST_P(BatchTest, LeaksIfOdd) {
  static std::vector<at::Tensor> kept;
  if (GetParam() % 2 == 1) kept.push_back(at::ones({GetParam()}));
}
INSTANTIATE_TEST_SUITE_P(Sizes, BatchTest, testing::Values(2, 3));

template <typename Scalar>
class TypedTest : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(TypedTest, Scalars);
TYPED_TEST(TypedTest, LeaksIfDouble) {
  static std::vector<at::Tensor> kept;
  const auto made = at::full({8}, TypeParam{1});
  if (sizeof(TypeParam) == 8) kept.push_back(made);
}

TEST(DyingDeathTest, CleanWhereAChildDies) {
  EXPECT_EXIT(
      {
        std::vector<at::Tensor> kept(4, at::ones({64}));
        ::_exit(3);
      },
      testing::ExitedWithCode(3), "");
}
TEST(ThreadsafeDeathTest, CleanWhereAChildDies) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(::_exit(4), testing::ExitedWithCode(4), "");
}

TEST(SkippedTest, NotJudged) { GTEST_SKIP(); }

// Assertions of stepleak's own make room.
TEST(AssertionTest, CleanStepWithin) {
  EXPECT_NO_GPU_LEAK([] { at::ones({64}); });
}
TEST(AssertionTest, LeaksStepWithin) {
  static std::vector<at::Tensor> kept;
  EXPECT_NO_GPU_LEAK([] { kept.push_back(at::ones({64})); });
}
TEST(AssertionTest, NotJudgedWhereALeakIsExpected) {
  static std::vector<at::Tensor> kept;
  EXPECT_GPU_LEAK([] { kept.push_back(at::ones({64})); }, stepleak::Kind::growth);
}

}  // namespace
