// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

class AdamTraining {
 public:
  explicit AdamTraining(torch::Device device)
      : device_(device),
        model_(small_model(device)),
        optimizer_(model_->parameters(), torch::optim::AdamOptions(0.001)) {}

  void step() {
    const auto inputs = torch::rand({kBatch, kWidth}, device_);
    const auto targets = torch::rand({kBatch, kWidth}, device_);
    optimizer_.zero_grad();
    torch::mse_loss(model_->forward(inputs), targets).backward();
    optimizer_.step();
  }

 private:
  torch::Device device_;
  torch::nn::Sequential model_;
  torch::optim::Adam optimizer_;
};

const Registration kClean{{
    .name = "cpp_adam_moments_created_lazily",
    .story = "Adam makes its two moments in its first step, with its gradients beside them: memory jumps once "
             "and is flat from then on.",
    .report = "git-disl/recap#2",
    .file = "scenarios/cpp/adam_moments_created_lazily.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<AdamTraining>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
