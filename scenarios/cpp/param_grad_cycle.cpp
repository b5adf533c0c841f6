// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

class PenaltyByBackward : SmallTraining {
 public:
  explicit PenaltyByBackward(torch::Device device) : SmallTraining(device) {}

  void step() {
    const auto mixed = torch::rand({kBatch, kWidth}, torch::device(device_).requires_grad(true));
    const auto score = model_->forward(mixed).sum();
    score.backward({}, /*retain_graph=*/true, /*create_graph=*/true);
    const auto penalty = (mixed.grad().norm(2, 1) - 1).square().mean();
    optimizer_.zero_grad();
    penalty.backward();
    optimizer_.step();
  }
};

class PenaltyByGrad : SmallTraining {
 public:
  explicit PenaltyByGrad(torch::Device device) : SmallTraining(device) {}

  void step() {
    const auto mixed = torch::rand({kBatch, kWidth}, torch::device(device_).requires_grad(true));
    const auto score = model_->forward(mixed).sum();
    const auto grad = torch::autograd::grad({score}, {mixed}, {}, /*retain_graph=*/true, /*create_graph=*/true)[0];
    const auto penalty = (grad.norm(2, 1) - 1).square().mean();
    optimizer_.zero_grad();
    penalty.backward();
    optimizer_.step();
  }
};

const Registration kLeak{{
    .name = "cpp_param_grad_cycle",
    .story = "A gradient penalty is computed by backward(create_graph) on a leaf made for the step. The "
             "gradient of the leaf has a graph that ends in the leaf, which owns the gradient: a cycle that "
             "nothing frees when the leaf is dropped.",
    .report = "pytorch/pytorch#16744",
    .file = "scenarios/cpp/param_grad_cycle.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::reference_cycle},
    .lines = {"score.backward({}, /*retain_graph=*/true"},
    .bytes_per_step = 2 * kBatch * kWidth * sizeof(float),
    .set_up = set_up_of<PenaltyByBackward>(),
}};

const Registration kClean{{
    .name = "cpp_param_grad_cycle_clean",
    .story = "The same penalty asks torch::autograd::grad for the gradient, which stores it nowhere.",
    .report = "pytorch/pytorch#16744",
    .file = "scenarios/cpp/param_grad_cycle.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<PenaltyByGrad>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
