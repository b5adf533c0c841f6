// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

class OutputOutsideLoop : SmallTraining {
 public:
  explicit OutputOutsideLoop(torch::Device device) : SmallTraining(device) {}

  void step() {
    const auto inputs = torch::rand({kBatch, kWidth}, device_);
    outputs_ = model_->forward(inputs);
    largest_output_ = outputs_.max().item<double>();
  }

 private:
  torch::Tensor outputs_;
  double largest_output_ = 0;
};

const Registration kClean{{
    .name = "cpp_previous_output_alive",
    .story = "The output is a member, so that of the last step, with its graph, is alive until the next one "
             "replaces it: the second step peaks higher than the first, and no later one does.",
    .report = "pytorch/pytorch#40562",
    .file = "scenarios/cpp/previous_output_alive.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<OutputOutsideLoop>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
