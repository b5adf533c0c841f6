// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <memory>

#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

struct ProbedNet : torch::nn::Module {
  ProbedNet() : linear(register_module("linear", torch::nn::Linear(kWidth, kWidth))) {}

  torch::Tensor forward(const torch::Tensor& inputs) {
    auto outputs = linear->forward(inputs);
    if (on_forward) on_forward(outputs);
    return outputs;
  }

  torch::nn::Linear linear;
  std::function<void(const torch::Tensor&)> on_forward;
  double largest_output = 0;
};

class Trial {
 protected:
  explicit Trial(torch::Device device) : device_(device) { torch::manual_seed(0); }

  void train(ProbedNet& net) const {
    torch::optim::SGD optimizer(net.parameters(), torch::optim::SGDOptions(0.01));
    const auto inputs = torch::rand({kBatch, kWidth}, device_);
    net.forward(inputs).square().mean().backward();
    optimizer.step();
  }

  torch::Device device_;
};

class TrialWithOwningHook : Trial {
 public:
  explicit TrialWithOwningHook(torch::Device device) : Trial(device) {}

  void step() {
    const auto net = std::make_shared<ProbedNet>();  // owned by its own hook
    net->to(device_);
    net->on_forward = [net](const torch::Tensor& outputs) { net->largest_output = outputs.max().item<double>(); };
    train(*net);
  }
};

class TrialWithObservingHook : Trial {
 public:
  explicit TrialWithObservingHook(torch::Device device) : Trial(device) {}

  void step() {
    const auto net = std::make_shared<ProbedNet>();
    net->to(device_);
    net->on_forward = [&probed = *net](const torch::Tensor& outputs) {
      probed.largest_output = outputs.max().item<double>();
    };
    train(*net);
  }
};

const Registration kLeak{{
    .name = "cpp_self_capturing_hook",
    .story = "Each trial builds a small network and gives it a hook that captures the owning pointer to that "
             "network. The network owns the hook and the hook the network, so the weights and gradients of "
             "every trial stay.",
    .report = "pytorch/pytorch#46386",
    .file = "scenarios/cpp/self_capturing_hook.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::reference_cycle, Kind::detached_activation},
    .lines = {"net->on_forward = [net]", "// owned by its own hook"},
    .bytes_per_step = 2 * (kWidth * kWidth + kWidth) * sizeof(float),
    .set_up = set_up_of<TrialWithOwningHook>(),
}};

const Registration kClean{{
    .name = "cpp_self_capturing_hook_clean",
    .story = "The same hook captures a plain reference: the network outlives its hook.",
    .report = "pytorch/pytorch#46386",
    .file = "scenarios/cpp/self_capturing_hook.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<TrialWithObservingHook>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
