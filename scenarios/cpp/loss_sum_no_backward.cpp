// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

class ValidationWithGraph : SmallTraining {
 public:
  explicit ValidationWithGraph(torch::Device device) : SmallTraining(device), total_loss_(torch::zeros({}, device)) {
    model_->eval();
  }

  void step() {
    const auto inputs = torch::rand({kBatch, kWidth}, device_);
    const auto targets = torch::rand({kBatch, kWidth}, device_);
    const auto loss = torch::mse_loss(model_->forward(inputs), targets);  // kept below
    total_loss_ = total_loss_ + loss;                                     // with its graph
  }

 private:
  torch::Tensor total_loss_;
};

class ValidationWithoutGraph : SmallTraining {
 public:
  explicit ValidationWithoutGraph(torch::Device device) : SmallTraining(device), total_loss_(torch::zeros({}, device)) {
    model_->eval();
  }

  void step() {
    const torch::NoGradGuard no_grad;
    const auto inputs = torch::rand({kBatch, kWidth}, device_);
    const auto targets = torch::rand({kBatch, kWidth}, device_);
    const auto loss = torch::mse_loss(model_->forward(inputs), targets);
    total_loss_ = total_loss_ + loss;
  }

 private:
  torch::Tensor total_loss_;
};

const Registration kLeak{{
    .name = "cpp_loss_sum_no_backward",
    .story = "A validation pass sums its losses as tensors while gradients are enabled. No backward releases "
             "anything, so the total keeps the saved tensors of every batch that was ever validated: inputs, "
             "hidden layer, outputs and targets.",
    .report = "pytorch/pytorch#17568",
    .file = "scenarios/cpp/loss_sum_no_backward.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::graph_retention},
    .lines = {"// with its graph", "// kept below"},
    .bytes_per_step = 4 * kBatch * kWidth * sizeof(float),
    .set_up = set_up_of<ValidationWithGraph>(),
}};

const Registration kClean{{
    .name = "cpp_loss_sum_no_backward_clean",
    .story = "The same validation sums tensors under NoGradGuard: the total has no graph.",
    .report = "pytorch/pytorch#17568",
    .file = "scenarios/cpp/loss_sum_no_backward.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<ValidationWithoutGraph>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
