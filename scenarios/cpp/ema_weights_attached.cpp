// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <vector>

#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

class EmaTraining : protected SmallTraining {
 protected:
  explicit EmaTraining(torch::Device device) : SmallTraining(device) {
    for (const auto& parameter : model_->parameters()) average_.push_back(parameter.detach().clone());
  }

  void train() {
    const auto inputs = torch::rand({kBatch, kWidth}, device_);
    const auto targets = torch::rand({kBatch, kWidth}, device_);
    optimizer_.zero_grad();
    torch::mse_loss(model_->forward(inputs), targets).backward();
    optimizer_.step();
  }

  std::vector<torch::Tensor> average_;
};

class EmaWithGraph : EmaTraining {
 public:
  explicit EmaWithGraph(torch::Device device) : EmaTraining(device) {}

  void step() {
    train();
    const auto weights = model_->parameters();
    for (std::size_t i = 0; i < weights.size(); ++i) average_[i] = 0.99 * average_[i] + 0.01 * weights[i];
  }
};

class EmaWithoutGraph : EmaTraining {
 public:
  explicit EmaWithoutGraph(torch::Device device) : EmaTraining(device) {}

  void step() {
    train();
    const torch::NoGradGuard no_grad;
    const auto parameters = model_->parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) average_[i] = 0.99 * average_[i] + 0.01 * parameters[i];
  }
};

const Registration kLeak{{
    .name = "cpp_ema_weights_attached",
    .story = "A moving average of the weights is computed while gradients are enabled. Each average is built "
             "from the last one and so holds the autograd nodes of all averages before it, one chain a "
             "parameter.",
    .report = "PaddlePaddle/PaddleNLP#6003",
    .file = "scenarios/cpp/ema_weights_attached.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::attached_activation},
    .lines = {"0.01 * weights[i]"},
    .set_up = set_up_of<EmaWithGraph>(),
}};

const Registration kClean{{
    .name = "cpp_ema_weights_attached_clean",
    .story = "The same moving average is computed under NoGradGuard.",
    .report = "PaddlePaddle/PaddleNLP#6003",
    .file = "scenarios/cpp/ema_weights_attached.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<EmaWithoutGraph>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
