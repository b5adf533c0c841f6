// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

class GradientAccumulation : SmallTraining {
 public:
  explicit GradientAccumulation(torch::Device device)
      : SmallTraining(device), running_loss_(torch::zeros({}, device)) {}

  void step() {
    const auto inputs = torch::rand({kBatch, kWidth}, device_);
    const auto targets = torch::rand({kBatch, kWidth}, device_);
    const auto loss = torch::mse_loss(model_->forward(inputs), targets) / kBatches;
    loss.backward();
    running_loss_ += loss.detach();
    if (++batch_count_ % kBatches == 0) {
      optimizer_.step();
      optimizer_.zero_grad();
    }
  }

 private:
  static constexpr std::int64_t kBatches = 4;

  torch::Tensor running_loss_;
  std::int64_t batch_count_ = 0;
};

const Registration kClean{{
    .name = "cpp_gradient_accumulation",
    .story = "Gradients of four batches are accumulated before the optimizer takes a step and drops them; the "
             "running loss is detached. The gradients are there in three steps of four.",
    .report = "huggingface/transformers#6999",
    .file = "scenarios/cpp/gradient_accumulation.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<GradientAccumulation>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
