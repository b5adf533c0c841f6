// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

class EvaluationKeepsOutputs : SmallTraining {
 public:
  explicit EvaluationKeepsOutputs(torch::Device device) : SmallTraining(device) {}

  void step() {
    const torch::NoGradGuard no_grad;
    const auto inputs = torch::rand({kBatch, kWidth}, device_);
    const auto outputs = model_->forward(inputs);  // kept below
    score_ += (outputs > 0).to(torch::kFloat).mean().item<double>();
    outputs_.push_back(outputs);
  }

 private:
  double score_ = 0;
  std::vector<torch::Tensor> outputs_;
};

class EvaluationKeepsScore : SmallTraining {
 public:
  explicit EvaluationKeepsScore(torch::Device device) : SmallTraining(device) {}

  void step() {
    const torch::NoGradGuard no_grad;
    const auto inputs = torch::rand({kBatch, kWidth}, device_);
    const auto outputs = model_->forward(inputs);
    score_ += (outputs > 0).to(torch::kFloat).mean().item<double>();
  }

 private:
  double score_ = 0;
};

const Registration kLeak{{
    .name = "cpp_eval_outputs_kept",
    .story = "An evaluation loop keeps the output of every step for an end of epoch that never reads them. The "
             "outputs have no graph, yet they stay on the device.",
    .report = "Lightning-AI/pytorch-lightning#8583",
    .file = "scenarios/cpp/eval_outputs_kept.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::detached_activation},
    .lines = {"outputs_.push_back(outputs);", "// kept below"},
    .bytes_per_step = kBatch * kWidth * sizeof(float),
    .set_up = set_up_of<EvaluationKeepsOutputs>(),
}};

const Registration kClean{{
    .name = "cpp_eval_outputs_kept_clean",
    .story = "The same evaluation keeps the score of each step, as a number.",
    .report = "Lightning-AI/pytorch-lightning#8583",
    .file = "scenarios/cpp/eval_outputs_kept.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<EvaluationKeepsScore>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
