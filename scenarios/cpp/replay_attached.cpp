// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <deque>

#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

class ReplayAttached : SmallTraining {
 public:
  explicit ReplayAttached(torch::Device device) : SmallTraining(device) {}

  void step() {
    const auto observation = torch::rand({kBatch, kWidth}, device_);
    replay_.push_back(model_->forward(observation));
    learn(observation, replay_.front().detach());
  }

 private:
  void learn(const torch::Tensor& observation, const torch::Tensor& old_logits) {
    optimizer_.zero_grad();
    torch::mse_loss(model_->forward(observation), old_logits).backward();
    optimizer_.step();
  }

  std::deque<torch::Tensor> replay_;
};

class ReplayDetached : SmallTraining {
 public:
  explicit ReplayDetached(torch::Device device) : SmallTraining(device) {}

  void step() {
    const auto observation = torch::rand({kBatch, kWidth}, device_);
    replay_.push_back(model_->forward(observation).detach());
    if (replay_.size() > kCapacity) replay_.pop_front();
    learn(observation, replay_.front());
  }

 private:
  static constexpr std::size_t kCapacity = 16;

  void learn(const torch::Tensor& observation, const torch::Tensor& old_logits) {
    optimizer_.zero_grad();
    torch::mse_loss(model_->forward(observation), old_logits).backward();
    optimizer_.step();
  }

  std::deque<torch::Tensor> replay_;
};

const Registration kLeak{{
    .name = "cpp_replay_attached",
    .story = "Acting pushes the logits of the policy to a replay buffer with their graph, and nothing bounds "
             "the buffer. The loss is computed from another forward pass, so no backward ever releases what "
             "the acting pass saved.",
    .report = "recursionpharma/gflownet#130",
    .file = "scenarios/cpp/replay_attached.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::attached_activation},
    .lines = {"replay_.push_back(model_->forward(observation));"},
    .bytes_per_step = 3 * kBatch * kWidth * sizeof(float),
    .set_up = set_up_of<ReplayAttached>(),
}};

const Registration kClean{{
    .name = "cpp_replay_attached_clean",
    .story = "The same agent pushes detached logits, to a replay buffer that drops its oldest item beyond 16.",
    .report = "recursionpharma/gflownet#130",
    .file = "scenarios/cpp/replay_attached.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<ReplayDetached>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
