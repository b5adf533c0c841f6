// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct ExpInSavedData : torch::autograd::Function<ExpInSavedData> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& input) {
    auto output = input.exp();  // owned by the node that it owns
    ctx->saved_data["output"] = output;
    return output;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grad_outputs) {
    return {grad_outputs[0] * ctx->saved_data["output"].toTensor()};
  }
};

struct ExpSavedForBackward : torch::autograd::Function<ExpSavedForBackward> {
  static torch::Tensor forward(AutogradContext* ctx, const torch::Tensor& input) {
    auto output = input.exp();
    ctx->save_for_backward({output});
    return output;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grad_outputs) {
    return {grad_outputs[0] * ctx->get_saved_variables()[0]};
  }
};

template <typename Exp>
class CustomExpTraining : SmallTraining {
 public:
  explicit CustomExpTraining(torch::Device device) : SmallTraining(device) {}

  void step() {
    const auto inputs = torch::rand({kBatch, kWidth}, device_);
    const auto targets = torch::rand({kBatch, kWidth}, device_);
    optimizer_.zero_grad();
    const auto rates = Exp::apply(model_->forward(inputs));
    torch::mse_loss(rates, targets).backward();
    optimizer_.step();
  }
};

const Registration kLeak{{
    .name = "cpp_ctx_stores_output",
    .story = "A custom autograd function parks its output in ctx->saved_data. The output owns its node, the "
             "node owns the ctx and the ctx owns the output: a cycle that neither backward nor dropping the "
             "output frees.",
    .report = "metatensor/metatensor#684",
    .file = "scenarios/cpp/ctx_stores_output.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::reference_cycle},
    .lines = {"] = output;", "auto output = input.exp();  // owned"},
    .bytes_per_step = kBatch * kWidth * sizeof(float),
    .set_up = set_up_of<CustomExpTraining<ExpInSavedData>>(),
}};

const Registration kClean{{
    .name = "cpp_ctx_stores_output_clean",
    .story = "The same function uses save_for_backward, which knows that the variable is an output and does "
             "not own its node.",
    .report = "metatensor/metatensor#684",
    .file = "scenarios/cpp/ctx_stores_output.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<CustomExpTraining<ExpSavedForBackward>>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
