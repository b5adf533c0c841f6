// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

class Decoder {
 protected:
  explicit Decoder(torch::Device device)
      : device_(device),
        keys_(torch::empty({kBatch, 0, kWidth}, device)),
        values_(torch::empty({kBatch, 0, kWidth}, device)) {
    torch::manual_seed(0);
    for (auto* projection : {&to_query_, &to_key_, &to_value_}) {
      *projection = torch::nn::Linear(kWidth, kWidth);
      (*projection)->to(device);
    }
  }

  [[nodiscard]] torch::Tensor attend(const torch::Tensor& token) {
    const auto scores = torch::matmul(to_query_->forward(token), keys_.transpose(1, 2));
    return torch::matmul(torch::softmax(scores, -1), values_);
  }

  torch::Device device_;
  torch::nn::Linear to_query_{nullptr};
  torch::nn::Linear to_key_{nullptr};
  torch::nn::Linear to_value_{nullptr};
  torch::Tensor keys_;
  torch::Tensor values_;
  torch::Tensor attended_;
};

class DecoderWithoutReset : Decoder {
 public:
  explicit DecoderWithoutReset(torch::Device device) : Decoder(device) {}

  void step() {
    const torch::NoGradGuard no_grad;
    const auto token = torch::rand({kBatch, 1, kWidth}, device_);
    keys_ = torch::cat({keys_, to_key_->forward(token)}, 1);
    values_ = torch::cat({values_, to_value_->forward(token)}, 1);
    attended_ = attend(token);
  }
};

class DecoderWithWindow : Decoder {
 public:
  explicit DecoderWithWindow(torch::Device device) : Decoder(device) {}

  void step() {
    const torch::NoGradGuard no_grad;
    const auto token = torch::rand({kBatch, 1, kWidth}, device_);
    keys_ = torch::cat({keys_, to_key_->forward(token)}, 1).slice(1, -kWindow);
    values_ = torch::cat({values_, to_value_->forward(token)}, 1).slice(1, -kWindow);
    attended_ = attend(token);
  }

 private:
  static constexpr std::int64_t kWindow = 8;
};

const Registration kLeak{{
    .name = "cpp_kv_cache_cat",
    .story = "A decoder appends the keys and values of each token to its cache by torch::cat, and the cache is "
             "never reset between requests: two tensors are reborn one token longer in every step.",
    .report = "MemTensor/MemOS#2303",
    .file = "scenarios/cpp/kv_cache_cat.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::growing_buffer},
    .lines = {"to_key_->forward(token)}, 1);", "to_value_->forward(token)}, 1);"},
    .bytes_per_step = 2 * kBatch * kWidth * sizeof(float),
    .set_up = set_up_of<DecoderWithoutReset>(),
}};

const Registration kClean{{
    .name = "cpp_kv_cache_cat_clean",
    .story = "The same decoder attends to the last eight tokens and cuts its cache to them.",
    .report = "MemTensor/MemOS#2303",
    .file = "scenarios/cpp/kv_cache_cat.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<DecoderWithWindow>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
