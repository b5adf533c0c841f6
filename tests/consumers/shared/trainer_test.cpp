// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// What a user's project has: a step that leaks, its near miss that does not, and a loop that is watched.

#include <ATen/ATen.h>
#include <gtest/gtest-spi.h>
#include <stepleak/gtest.hpp>

#include <vector>

namespace {

struct Trainer {
  at::Tensor weights = at::randn({16, 4}).requires_grad_();
  std::vector<at::Tensor> history;

  at::Tensor step() {
    weights.mutable_grad() = at::Tensor();
    const auto loss = at::rand({4, 16}).matmul(weights).square().mean();
    loss.backward();
    return loss;
  }
};

TEST(TrainerTest, KeepsNoMemory) {
  Trainer trainer;
  EXPECT_NO_GPU_LEAK([&] { trainer.step(); });
}

TEST(TrainerTest, KeepsEachLossWithItsGraph) {
  static Trainer trainer;  // EXPECT_NONFATAL_FAILURE takes nothing local
  EXPECT_GPU_LEAK([&] { trainer.history.push_back(trainer.step()); }, stepleak::Kind::graph_retention);
  EXPECT_NONFATAL_FAILURE(EXPECT_NO_GPU_LEAK([] { trainer.history.push_back(trainer.step()); }), "trainer_test.cpp");
}

TEST(TrainerTest, LoopIsWatched) {
  Trainer trainer;
  stepleak::Watch watch;
  for (int batch = 0; batch < 1000; ++batch) {
    trainer.history.push_back(trainer.step());
    watch.step();
  }
  EXPECT_EQ(watch.finish().verdict, stepleak::Verdict::leak) << watch.finish().report;
}

}  // namespace
