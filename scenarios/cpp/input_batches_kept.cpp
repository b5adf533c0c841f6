// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

class Recomputation : protected SmallTraining {
 protected:
  explicit Recomputation(torch::Device device) : SmallTraining(device) {}

  /// Forward without graph from the stashed batch, then once more with it for backward.
  void train() {
    {
      const torch::NoGradGuard no_grad;
      model_->forward(stash_.back());
    }
    optimizer_.zero_grad();
    model_->forward(stash_.back()).square().mean().backward();
    optimizer_.step();
  }

  std::vector<torch::Tensor> stash_;
};

class RecomputationKeepsInputs : Recomputation {
 public:
  explicit RecomputationKeepsInputs(torch::Device device) : Recomputation(device) {}

  void step() {
    stash_.push_back(torch::rand({kBatch, kWidth}, device_));  // and no clear()
    train();
  }
};

class RecomputationClearsInputs : Recomputation {
 public:
  explicit RecomputationClearsInputs(torch::Device device) : Recomputation(device) {}

  void step() {
    stash_.push_back(torch::rand({kBatch, kWidth}, device_));
    train();
    stash_.clear();
  }
};

const Registration kLeak{{
    .name = "cpp_input_batches_kept",
    .story = "Recomputation stashes the batch that its segment starts from, and the branch that clears the "
             "stash after backward is never taken: each batch stays, made by no operator of the model.",
    .report = "deepspeedai/DeepSpeed#1698",
    .file = "scenarios/cpp/input_batches_kept.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::growth},
    .lines = {"// and no clear()"},
    .bytes_per_step = kBatch * kWidth * sizeof(float),
    .set_up = set_up_of<RecomputationKeepsInputs>(),
}};

const Registration kClean{{
    .name = "cpp_input_batches_kept_clean",
    .story = "The same recomputation clears its stash after each backward.",
    .report = "deepspeedai/DeepSpeed#1698",
    .file = "scenarios/cpp/input_batches_kept.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<RecomputationClearsInputs>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
