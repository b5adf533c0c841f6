// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <map>

#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

class BucketedLengths : SmallTraining {
 public:
  explicit BucketedLengths(torch::Device device) : SmallTraining(device) {}

  void step() {
    const auto length = next_length();
    const auto tokens = torch::rand({length, kWidth}, device_);
    optimizer_.zero_grad();
    const auto hidden = model_->forward(tokens);
    const auto scores = torch::matmul(hidden, hidden.t()) + mask_for(length);
    torch::softmax(scores, -1).square().mean().backward();
    optimizer_.step();
  }

 private:
  /// Bucket k holds lengths of 8 (k + 1); it is first met in the step given here.
  static constexpr std::array<std::int64_t, 6> kFirstMet{1, 2, 5, 10, 20, 40};

  [[nodiscard]] std::int64_t next_length() {
    ++step_count_;
    std::size_t bucket = 0;
    for (std::size_t k = 0; k < kFirstMet.size(); ++k) {
      if (step_count_ % kFirstMet[k] == 0) bucket = k;
    }
    return 8 * (static_cast<std::int64_t>(bucket) + 1);
  }

  [[nodiscard]] const torch::Tensor& mask_for(std::int64_t length) {
    auto& mask = masks_[length];
    if (!mask.defined()) mask = torch::full({length, length}, -1e9, device_).triu(1);
    return mask;
  }

  std::map<std::int64_t, torch::Tensor> masks_;
  std::int64_t step_count_ = 0;
};

const Registration kClean{{
    .name = "cpp_late_length_buckets",
    .story = "Sequences fall into six buckets of length, and the mask of each bucket is made once and kept. "
             "The rare long buckets are first met late, the last in step 40, so memory climbs in ever rarer "
             "stairs that end there.",
    .report = "uxlfoundation/oneDNN#489",
    .file = "scenarios/cpp/late_length_buckets.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<BucketedLengths>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
