// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

/// Trains, and scales the gradient of the hidden layer by the layer's own output.
class GatedTraining : protected SmallTraining {
 protected:
  explicit GatedTraining(torch::Device device) : SmallTraining(device) {}

  template <typename AddHook>
  void train(AddHook add_hook) {
    const auto inputs = torch::rand({kBatch, kWidth}, device_);
    optimizer_.zero_grad();
    const auto hidden = model_->forward(inputs);
    add_hook(hidden);
    torch::mse_loss(hidden, inputs).backward();
    optimizer_.step();
  }
};

class GateOverOutput : GatedTraining {
 public:
  explicit GateOverOutput(torch::Device device) : GatedTraining(device) {}

  void step() {
    train([](const torch::Tensor& hidden) {
      hidden.register_hook([hidden](const torch::Tensor& gradient) { return gradient * hidden.detach().sigmoid(); });
    });
  }
};

class GateOverCopy : GatedTraining {
 public:
  explicit GateOverCopy(torch::Device device) : GatedTraining(device) {}

  void step() {
    train([](const torch::Tensor& hidden) {
      hidden.register_hook(
          [gate = hidden.detach().sigmoid()](const torch::Tensor& gradient) { return gradient * gate; });
    });
  }
};

const Registration kLeak{{
    .name = "cpp_gradient_hook_keeps_output",
    .story = "A hook on the gradient of a layer's output captures the output itself. The output owns its "
             "node, the node the hook and the hook the output: the graph of every step stays.",
    .report = "pytorch/pytorch#82528",
    .file = "scenarios/cpp/gradient_hook_keeps_output.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::reference_cycle, Kind::attached_activation},
    .lines = {"hidden.register_hook([hidden]", "const auto hidden = model_->forward(inputs);"},
    .set_up = set_up_of<GateOverOutput>(),
}};

const Registration kClean{{
    .name = "cpp_gradient_hook_keeps_output_clean",
    .story = "The hook captures what it needs of the output, which has no node.",
    .report = "pytorch/pytorch#82528",
    .file = "scenarios/cpp/gradient_hook_keeps_output.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<GateOverCopy>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
