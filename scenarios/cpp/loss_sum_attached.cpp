// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

class LossSumAttached : SmallTraining {
 public:
  explicit LossSumAttached(torch::Device device) : SmallTraining(device), total_loss_(torch::zeros({}, device)) {}

  void step() {
    const auto inputs = torch::rand({kBatch, kWidth}, device_);
    const auto targets = torch::rand({kBatch, kWidth}, device_);
    optimizer_.zero_grad();
    const auto loss = torch::mse_loss(model_->forward(inputs), targets);  // kept below
    loss.backward();
    optimizer_.step();
    total_loss_ += loss;
  }

 private:
  torch::Tensor total_loss_;
};

class LossSumOfNumbers : SmallTraining {
 public:
  explicit LossSumOfNumbers(torch::Device device) : SmallTraining(device) {}

  void step() {
    const auto inputs = torch::rand({kBatch, kWidth}, device_);
    const auto targets = torch::rand({kBatch, kWidth}, device_);
    optimizer_.zero_grad();
    const auto loss = torch::mse_loss(model_->forward(inputs), targets);
    loss.backward();
    optimizer_.step();
    total_loss_ += loss.item<double>();
  }

 private:
  double total_loss_ = 0;
};

const Registration kLeak{{
    .name = "cpp_loss_sum_attached",
    .story = "Training adds each loss to a running total, as a tensor with its graph. Backward has already "
             "released the saved tensors, so hardly a byte of tensor memory grows: what piles up is the chain "
             "of autograd nodes of all past steps.",
    .report = "google/brax#152",
    .file = "scenarios/cpp/loss_sum_attached.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::graph_retention},
    .lines = {"total_loss_ += loss;", "// kept below"},
    .set_up = set_up_of<LossSumAttached>(),
}};

const Registration kClean{{
    .name = "cpp_loss_sum_attached_clean",
    .story = "The same training adds the loss as a plain number, so each graph dies with its step.",
    .report = "google/brax#152",
    .file = "scenarios/cpp/loss_sum_attached.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<LossSumOfNumbers>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
