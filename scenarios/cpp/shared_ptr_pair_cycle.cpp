// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

struct OwnedRequest;

struct OwningAwaitable {
  torch::Tensor outputs;
  std::shared_ptr<OwnedRequest> request;
};

struct OwnedRequest {
  torch::Tensor inputs;
  std::shared_ptr<OwningAwaitable> awaitable;
};

struct SeenRequest;

struct SeeingAwaitable {
  torch::Tensor outputs;
  std::weak_ptr<SeenRequest> request;
};

struct SeenRequest {
  torch::Tensor inputs;
  std::shared_ptr<SeeingAwaitable> awaitable;
};

class LookupWithOwningPair : SmallTraining {
 public:
  explicit LookupWithOwningPair(torch::Device device) : SmallTraining(device) {}

  void step() {
    const torch::NoGradGuard no_grad;
    const auto request = std::make_shared<OwnedRequest>();
    request->inputs = torch::rand({kBatch, kWidth}, device_);  // kept by the pair
    request->awaitable = std::make_shared<OwningAwaitable>();
    request->awaitable->request = request;                           // the way back
    request->awaitable->outputs = model_->forward(request->inputs);  // and this too
  }
};

class LookupWithObservingPair : SmallTraining {
 public:
  explicit LookupWithObservingPair(torch::Device device) : SmallTraining(device) {}

  void step() {
    const torch::NoGradGuard no_grad;
    const auto request = std::make_shared<SeenRequest>();
    request->inputs = torch::rand({kBatch, kWidth}, device_);
    request->awaitable = std::make_shared<SeeingAwaitable>();
    request->awaitable->request = request;
    request->awaitable->outputs = model_->forward(request->inputs);
  }
};

const Registration kLeak{{
    .name = "cpp_shared_ptr_pair_cycle",
    .story = "A request owns the awaitable of its result, and the awaitable owns the request that it answers. "
             "Nobody reaches the pair after the step, and both tensors stay.",
    .report = "meta-pytorch/torchrec#1226",
    .file = "scenarios/cpp/shared_ptr_pair_cycle.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::reference_cycle, Kind::detached_activation},
    .lines = {"// the way back", "// kept by the pair", "// and this too"},
    .bytes_per_step = 2 * kBatch * kWidth * sizeof(float),
    .set_up = set_up_of<LookupWithOwningPair>(),
}};

const Registration kClean{{
    .name = "cpp_shared_ptr_pair_cycle_clean",
    .story = "The same awaitable refers to its request by a weak pointer.",
    .report = "meta-pytorch/torchrec#1226",
    .file = "scenarios/cpp/shared_ptr_pair_cycle.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<LookupWithObservingPair>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
