// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

class Stream {
 protected:
  explicit Stream(torch::Device device) : device_(device), hidden_(torch::zeros({kBatch, kWidth}, device)) {
    torch::manual_seed(0);
    cell_ = torch::nn::GRUCell(kWidth, kWidth);
    head_ = torch::nn::Linear(kWidth, 1);
    cell_->to(device);
    head_->to(device);
  }

  torch::Device device_;
  torch::nn::GRUCell cell_{nullptr};
  torch::nn::Linear head_{nullptr};
  torch::Tensor hidden_;
  double prediction_ = 0;
};

class StreamWithGraph : Stream {
 public:
  explicit StreamWithGraph(torch::Device device) : Stream(device) {}

  void step() {
    const auto sample = torch::rand({kBatch, kWidth}, device_);
    hidden_ = cell_->forward(sample, hidden_);
    prediction_ = head_->forward(hidden_).mean().item<double>();
  }
};

class StreamWithDetachedState : Stream {
 public:
  explicit StreamWithDetachedState(torch::Device device) : Stream(device) {}

  void step() {
    const auto sample = torch::rand({kBatch, kWidth}, device_);
    hidden_ = cell_->forward(sample, hidden_).detach();
    prediction_ = head_->forward(hidden_).mean().item<double>();
  }
};

const Registration kLeak{{
    .name = "cpp_rnn_hidden_carried",
    .story = "A recurrent cell predicts a stream and feeds its hidden state back to itself, attached. No "
             "backward runs, so the state of the last step holds the saved tensors of all steps before.",
    .report = "pytorch/pytorch#2198",
    .file = "scenarios/cpp/rnn_hidden_carried.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::attached_activation},
    .lines = {"hidden_ = cell_->forward(sample, hidden_);"},
    .set_up = set_up_of<StreamWithGraph>(),
}};

const Registration kClean{{
    .name = "cpp_rnn_hidden_carried_clean",
    .story = "The same stream detaches the hidden state before it carries it over.",
    .report = "pytorch/pytorch#2198",
    .file = "scenarios/cpp/rnn_hidden_carried.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<StreamWithDetachedState>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
