// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

/// Subtracts the mean of the batch, and keeps a running mean for evaluation.
class NormWithGraphImpl : public torch::nn::Module {
 public:
  NormWithGraphImpl() : running_mean_(register_buffer("running_mean", torch::zeros(kWidth))) {}

  torch::Tensor forward(const torch::Tensor& inputs) {
    const auto mean = inputs.mean(0);  // kept below
    running_mean_ = 0.9 * running_mean_ + 0.1 * mean;
    return inputs - mean;
  }

 private:
  torch::Tensor running_mean_;
};
TORCH_MODULE(NormWithGraph);

/// Subtracts the mean of the batch, and keeps a running mean for evaluation.
class NormWithoutGraphImpl : public torch::nn::Module {
 public:
  NormWithoutGraphImpl() : running_mean_(register_buffer("running_mean", torch::zeros(kWidth))) {}

  torch::Tensor forward(const torch::Tensor& inputs) {
    const auto mean = inputs.mean(0);
    running_mean_ = 0.9 * running_mean_ + 0.1 * mean.detach();
    return inputs - mean;
  }

 private:
  torch::Tensor running_mean_;
};
TORCH_MODULE(NormWithoutGraph);

template <typename Norm>
class NormTraining {
 public:
  explicit NormTraining(torch::Device device) : device_(device) {
    torch::manual_seed(0);
    model_ = torch::nn::Sequential(torch::nn::Linear(kWidth, kWidth), Norm(), torch::nn::Linear(kWidth, kWidth));
    model_->to(device);
    optimizer_ = std::make_unique<torch::optim::SGD>(model_->parameters(), torch::optim::SGDOptions(0.01));
  }

  void step() {
    const auto inputs = torch::rand({kBatch, kWidth}, device_);
    const auto targets = torch::rand({kBatch, kWidth}, device_);
    optimizer_->zero_grad();
    torch::mse_loss(model_->forward(inputs), targets).backward();
    optimizer_->step();
  }

 private:
  torch::Device device_;
  torch::nn::Sequential model_;
  std::unique_ptr<torch::optim::SGD> optimizer_;
};

const Registration kLeak{{
    .name = "cpp_running_stat_attached",
    .story = "A hand-written normalisation updates its running mean from the attached mean of the batch. Each "
             "new running mean is computed from the last one, so it holds the autograd nodes of every past "
             "forward pass.",
    .report = "pytorch/pytorch#20275",
    .file = "scenarios/cpp/running_stat_attached.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::attached_activation},
    .lines = {"+ 0.1 * mean;", "// kept below"},
    .set_up = set_up_of<NormTraining<NormWithGraph>>(),
}};

const Registration kClean{{
    .name = "cpp_running_stat_attached_clean",
    .story = "The same normalisation updates its running mean from the detached mean of the batch.",
    .report = "pytorch/pytorch#20275",
    .file = "scenarios/cpp/running_stat_attached.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<NormTraining<NormWithoutGraph>>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
