// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

class Densification {
 protected:
  explicit Densification(torch::Device device)
      : targets_(torch::ones({kWidth, kWidth}, device)),
        points_(torch::zeros({kWidth, kWidth}, torch::device(device).requires_grad(true))),
        optimizer_({points_}, torch::optim::AdamOptions(0.01)) {
    torch::manual_seed(0);
  }

  void train() {
    optimizer_.zero_grad();
    torch::mse_loss(points_, targets_).backward();
    optimizer_.step();
  }

  torch::Tensor targets_;
  torch::Tensor points_;
  torch::optim::Adam optimizer_;
};

class ReplaceByNewGroup : Densification {
 public:
  explicit ReplaceByNewGroup(torch::Device device) : Densification(device) {}

  void step() {
    train();
    points_ = points_.detach().clone().requires_grad_();  // beside the old ones
    optimizer_.add_param_group(torch::optim::OptimizerParamGroup({points_}));
  }
};

class ReplaceInPlace : Densification {
 public:
  explicit ReplaceInPlace(torch::Device device) : Densification(device) {}

  void step() {
    train();
    optimizer_.state().erase(points_.unsafeGetTensorImpl());
    points_ = points_.detach().clone().requires_grad_();
    optimizer_.param_groups().front().params() = {points_};
  }
};

const Registration kLeak{{
    .name = "cpp_stale_optimizer_state",
    .story = "Densification replaces the points by a new tensor and gives it to Adam as a new parameter group. "
             "The old group keeps the old points, and the state keeps their two moments.",
    .report = "nerfstudio-project/gsplat#931",
    .file = "scenarios/cpp/stale_optimizer_state.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::optimizer_state, Kind::detached_activation, Kind::growth},
    .lines = {"optimizer_.add_param_group(", "// beside the old ones"},
    .bytes_per_step = 3 * kWidth * kWidth * sizeof(float),
    .set_up = set_up_of<ReplaceByNewGroup>(),
}};

const Registration kClean{{
    .name = "cpp_stale_optimizer_state_clean",
    .story = "The same densification erases the state of the old points and puts the new ones in their place.",
    .report = "nerfstudio-project/gsplat#931",
    .file = "scenarios/cpp/stale_optimizer_state.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<ReplaceInPlace>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
