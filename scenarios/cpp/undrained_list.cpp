// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <deque>

#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

constexpr std::int64_t kBlocksPerStep = 256;

class Scheduler : protected SmallTraining {
 protected:
  explicit Scheduler(torch::Device device) : SmallTraining(device) {}

  void infer() {
    const torch::NoGradGuard no_grad;
    outputs_ = model_->forward(torch::rand({kBatch, kWidth}, device_));
  }

  void free_blocks() {
    for (std::int64_t block = 0; block < kBlocksPerStep; ++block) freed_blocks_.push_back(block);
  }

  std::deque<std::int64_t> freed_blocks_;
  bool has_offloader_ = false;
  torch::Tensor outputs_;
};

class SchedulerThatForgets : Scheduler {
 public:
  explicit SchedulerThatForgets(torch::Device device) : Scheduler(device) {}

  void step() {
    infer();
    free_blocks();
    if (has_offloader_) freed_blocks_.clear();
  }
};

class SchedulerThatDrains : Scheduler {
 public:
  explicit SchedulerThatDrains(torch::Device device) : Scheduler(device) {}

  void step() {
    infer();
    free_blocks();
    freed_blocks_.clear();
  }
};

const Registration kLeak{{
    .name = "cpp_undrained_list",
    .story = "A scheduler notes the number of each cache block that it frees, for an offloader that drains the "
             "list. Without an offloader nothing drains it: two KiB of host memory a step, and not one tensor.",
    .report = "vllm-project/vllm#44490",
    .file = "scenarios/cpp/undrained_list.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::host_heap},
    .lines = {"freed_blocks_.push_back(block)"},
    .bytes_per_step = kBlocksPerStep * sizeof(std::int64_t),
    .set_up = set_up_of<SchedulerThatForgets>(),
}};

const Registration kClean{{
    .name = "cpp_undrained_list_clean",
    .story = "The same scheduler drains the list in each step, with an offloader or without.",
    .report = "vllm-project/vllm#44490",
    .file = "scenarios/cpp/undrained_list.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .set_up = set_up_of<SchedulerThatDrains>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
