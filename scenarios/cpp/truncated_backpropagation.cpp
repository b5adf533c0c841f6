// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

class TruncatedBackpropagation {
 public:
  explicit TruncatedBackpropagation(torch::Device device)
      : device_(device), hidden_(torch::zeros({kBatch, kWidth}, device)), window_loss_(torch::zeros({}, device)) {
    torch::manual_seed(0);
    cell_ = torch::nn::GRUCell(kWidth, kWidth);
    cell_->to(device);
    optimizer_ = std::make_unique<torch::optim::SGD>(cell_->parameters(), torch::optim::SGDOptions(0.01));
  }

  void step() {
    const auto sample = torch::rand({kBatch, kWidth}, device_);
    const auto target = torch::rand({kBatch, kWidth}, device_);
    hidden_ = cell_->forward(sample, hidden_);
    window_loss_ = window_loss_ + torch::mse_loss(hidden_, target);
    if (++step_count_ % kWindow == 0) learn();
  }

 private:
  static constexpr std::int64_t kWindow = 8;

  void learn() {
    optimizer_->zero_grad();
    window_loss_.backward();
    optimizer_->step();
    hidden_ = hidden_.detach();
    window_loss_ = torch::zeros({}, device_);
  }

  torch::Device device_;
  torch::nn::GRUCell cell_{nullptr};
  std::unique_ptr<torch::optim::SGD> optimizer_;
  torch::Tensor hidden_;
  torch::Tensor window_loss_;
  std::int64_t step_count_ = 0;
};

const Registration kClean{{
    .name = "cpp_truncated_backpropagation",
    .story = "A recurrent cell is trained on a stream: eight steps build one graph, then backward runs and the "
             "hidden state is detached. Memory is a saw-tooth of eight steps.",
    .report = "pytorch/pytorch#2198",
    .file = "scenarios/cpp/truncated_backpropagation.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<TruncatedBackpropagation>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
