// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/torch.h>

#include <cstdint>

#include "scenarios/cpp/scenario_of.hpp"

namespace stepleak::scenarios {

inline constexpr std::int64_t kBatch = 8;
inline constexpr std::int64_t kWidth = 32;

/// Two linear layers, seeded: every run of a scenario draws the same weights and the same batches.
[[nodiscard]] inline torch::nn::Sequential small_model(torch::Device device) {
  torch::manual_seed(0);
  torch::nn::Sequential model(torch::nn::Linear(kWidth, kWidth), torch::nn::Tanh(), torch::nn::Linear(kWidth, kWidth));
  model->to(device);
  return model;
}

/// What most scenarios train. It takes no step: each scenario writes out its own, so that the lines named in a
/// finding are the scenario's.
class SmallTraining {
 protected:
  explicit SmallTraining(torch::Device device)
      : device_(device),
        model_(small_model(device)),
        optimizer_(model_->parameters(), torch::optim::SGDOptions(0.01)) {}

  torch::Device device_;
  torch::nn::Sequential model_;
  torch::optim::SGD optimizer_;
};

}  // namespace stepleak::scenarios
