// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

constexpr std::int64_t kTokens = 17;  // a class token and 16 patches

class FeaturesAsViews : SmallTraining {
 public:
  explicit FeaturesAsViews(torch::Device device) : SmallTraining(device) {}

  void step() {
    const torch::NoGradGuard no_grad;
    const auto images = torch::rand({kBatch, kTokens, kWidth}, device_);
    const auto tokens = model_->forward(images);  // kept by the view
    features_.push_back(tokens.select(1, 0));
  }

 private:
  std::vector<torch::Tensor> features_;
};

class FeaturesCopied : SmallTraining {
 public:
  explicit FeaturesCopied(torch::Device device)
      : SmallTraining(device), features_(torch::zeros({kBatches, kBatch, kWidth}, device)) {}

  void step() {
    const torch::NoGradGuard no_grad;
    const auto images = torch::rand({kBatch, kTokens, kWidth}, device_);
    const auto tokens = model_->forward(images);
    features_[batch_].copy_(tokens.select(1, 0));
    batch_ = (batch_ + 1) % kBatches;
  }

 private:
  static constexpr std::int64_t kBatches = 64;

  torch::Tensor features_;
  std::int64_t batch_ = 0;
};

const Registration kLeak{{
    .name = "cpp_view_pins_storage",
    .story = "Feature extraction keeps the class token of each batch, which is a view: 1 KiB of features pins "
             "the 17 KiB of all tokens.",
    .report = "ViCCo-Group/thingsvision#150",
    .file = "scenarios/cpp/view_pins_storage.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::view_pins_storage},
    .lines = {"features_.push_back(tokens.select(1, 0));", "// kept by the view"},
    .bytes_per_step = kBatch * kTokens * kWidth * sizeof(float),
    .set_up = set_up_of<FeaturesAsViews>(),
}};

const Registration kClean{{
    .name = "cpp_view_pins_storage_clean",
    .story = "The same extraction copies the class token into a matrix that was allocated once for the data "
             "set.",
    .report = "ViCCo-Group/thingsvision#150",
    .file = "scenarios/cpp/view_pins_storage.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<FeaturesCopied>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
