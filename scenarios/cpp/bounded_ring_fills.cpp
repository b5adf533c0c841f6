// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <deque>

#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

class RingOfOutputs : SmallTraining {
 public:
  explicit RingOfOutputs(torch::Device device) : SmallTraining(device) {}

  void step() {
    const auto inputs = torch::rand({kBatch, kWidth}, device_);
    const auto targets = torch::rand({kBatch, kWidth}, device_);
    optimizer_.zero_grad();
    const auto outputs = model_->forward(inputs);
    torch::mse_loss(outputs, targets).backward();
    optimizer_.step();
    last_outputs_.push_back(outputs.detach());
    if (last_outputs_.size() > kCapacity) last_outputs_.pop_front();
  }

 private:
  static constexpr std::size_t kCapacity = 32;

  std::deque<torch::Tensor> last_outputs_;
};

const Registration kClean{{
    .name = "cpp_bounded_ring_fills",
    .story = "The last 32 outputs are kept, detached. Memory grows for 32 steps, one output a step like a "
             "leak, and is flat once the ring is full.",
    .report = "BY571/IQN-and-Extensions#3",
    .file = "scenarios/cpp/bounded_ring_fills.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<RingOfOutputs>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
