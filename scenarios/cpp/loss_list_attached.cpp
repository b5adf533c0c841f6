// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

class LossListAttached : SmallTraining {
 public:
  explicit LossListAttached(torch::Device device) : SmallTraining(device) {}

  void step() {
    const auto inputs = torch::rand({kBatch, kWidth}, device_);
    const auto targets = torch::rand({kBatch, kWidth}, device_);
    optimizer_.zero_grad();
    const auto loss = torch::mse_loss(model_->forward(inputs), targets);  // kept below
    loss.backward();
    optimizer_.step();
    losses_.push_back(loss);
  }

 private:
  std::vector<torch::Tensor> losses_;
};

class LossAverageOfNumbers : SmallTraining {
 public:
  explicit LossAverageOfNumbers(torch::Device device) : SmallTraining(device) {}

  void step() {
    const auto inputs = torch::rand({kBatch, kWidth}, device_);
    const auto targets = torch::rand({kBatch, kWidth}, device_);
    optimizer_.zero_grad();
    const auto loss = torch::mse_loss(model_->forward(inputs), targets);
    loss.backward();
    optimizer_.step();
    average_loss_ = 0.9 * average_loss_ + 0.1 * loss.item<double>();
  }

 private:
  double average_loss_ = 0;
};

const Registration kLeak{{
    .name = "cpp_loss_list_attached",
    .story = "Training pushes each loss to a vector for a later plot, as a tensor with its graph: one 0-dim "
             "tensor and all autograd nodes of its step stay per step.",
    .report = "IBM/mi-prometheus#111",
    .file = "scenarios/cpp/loss_list_attached.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::graph_retention},
    .lines = {"losses_.push_back(loss);", "// kept below"},
    .set_up = set_up_of<LossListAttached>(),
}};

const Registration kClean{{
    .name = "cpp_loss_list_attached_clean",
    .story = "The same training keeps an exponential average of the loss as a number.",
    .report = "IBM/mi-prometheus#111",
    .file = "scenarios/cpp/loss_list_attached.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<LossAverageOfNumbers>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
