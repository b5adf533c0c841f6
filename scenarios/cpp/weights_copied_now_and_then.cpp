// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

constexpr std::int64_t kEvery = 25;

class Training : protected SmallTraining {
 protected:
  explicit Training(torch::Device device) : SmallTraining(device) {}

  /// Whether it is time to validate.
  [[nodiscard]] bool train() {
    const auto inputs = torch::rand({kBatch, kWidth}, device_);
    optimizer_.zero_grad();
    loss_ = torch::mse_loss(model_->forward(inputs), inputs);
    loss_.backward();
    optimizer_.step();
    return ++step_count_ % kEvery == 0;
  }

  [[nodiscard]] std::vector<torch::Tensor> weights() const {
    std::vector<torch::Tensor> copies;
    for (const auto& parameter : model_->parameters()) copies.push_back(parameter.detach().clone());
    return copies;
  }

  [[nodiscard]] double score() const { return loss_.item<double>(); }

 private:
  torch::Tensor loss_;
  std::int64_t step_count_ = 0;
};

class KeepsAllCopies : Training {
 public:
  explicit KeepsAllCopies(torch::Device device) : Training(device) {}

  void step() {
    if (train()) copies_.emplace_back(score(), weights());
  }

 private:
  std::vector<std::pair<double, std::vector<torch::Tensor>>> copies_;
};

class KeepsBestCopy : Training {
 public:
  explicit KeepsBestCopy(torch::Device device) : Training(device) {}

  void step() {
    if (!train() || score() >= best_score_) return;
    best_score_ = score();
    best_ = weights();
  }

 private:
  double best_score_ = std::numeric_limits<double>::infinity();
  std::vector<torch::Tensor> best_;
};

const Registration kLeak{{
    .name = "cpp_weights_copied_now_and_then",
    .story = "Every 25th step validates and copies the weights, to go back to the best ones. All copies stay, "
             "and only one will ever be read.",
    .report = "wandb/wandb#2644",
    .file = "scenarios/cpp/weights_copied_now_and_then.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::growth, Kind::detached_activation},
    .lines = {"copies_.emplace_back(score(), weights())", "copies.push_back(parameter.detach().clone())"},
    .bytes_per_step = 2 * (kWidth * kWidth + kWidth) * sizeof(float) / 25.0,
    .set_up = set_up_of<KeepsAllCopies>(),
}};

const Registration kClean{{
    .name = "cpp_weights_copied_now_and_then_clean",
    .story = "A better copy replaces the one before.",
    .report = "wandb/wandb#2644",
    .file = "scenarios/cpp/weights_copied_now_and_then.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<KeepsBestCopy>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
