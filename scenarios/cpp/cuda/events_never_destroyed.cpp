// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

constexpr int kLayers = 16;

/// Measures the time between two points of a stream.
class Timer {
 public:
  void start() {
    C10_CUDA_CHECK(cudaEventCreate(&begin_));
    C10_CUDA_CHECK(cudaEventCreate(&end_));
    C10_CUDA_CHECK(cudaEventRecord(begin_, c10::cuda::getCurrentCUDAStream()));
  }

  float stop() {
    C10_CUDA_CHECK(cudaEventRecord(end_, c10::cuda::getCurrentCUDAStream()));
    C10_CUDA_CHECK(cudaEventSynchronize(end_));
    float milliseconds = 0;
    C10_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return milliseconds;
  }

 protected:
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

class TimerThatCleansUp : public Timer {
 public:
  float stop() {
    const auto milliseconds = Timer::stop();
    C10_CUDA_CHECK(cudaEventDestroy(begin_));
    C10_CUDA_CHECK(cudaEventDestroy(end_));
    return milliseconds;
  }
};

template <typename Clock>
class TimedTraining : SmallTraining {
 public:
  explicit TimedTraining(torch::Device device) : SmallTraining(device) {}

  void step() {
    const c10::cuda::CUDAGuard on_device(device_);
    const auto inputs = torch::rand({kBatch, kWidth}, device_);
    auto hidden = inputs;
    for (int layer = 0; layer < kLayers; ++layer) {
      Clock clock;
      clock.start();
      hidden = torch::tanh(hidden);
      milliseconds_ += clock.stop();
    }
    optimizer_.zero_grad();
    torch::mse_loss(model_->forward(hidden), inputs).backward();
    optimizer_.step();
  }

 private:
  float milliseconds_ = 0;
};

const Registration kLeak{{
    .name = "cpp_cuda_events_never_destroyed",
    .story = "A timer creates two CUDA events for each of sixteen layers in every step and destroys none: 32 handles "
             "a step, which take memory of the driver and none of torch's.",
    .report = "tromp/cuckoo#69",
    .file = "scenarios/cpp/cuda/events_never_destroyed.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::raw_cuda, Kind::host_heap},
    .lines = {"cudaEventCreate(&begin_)", "cudaEventCreate(&end_)", "clock.start();"},
    .needs_cuda = true,
    .set_up = set_up_of<TimedTraining<Timer>>(),
}};

const Registration kClean{{
    .name = "cpp_cuda_events_never_destroyed_clean",
    .story = "The same timer destroys its two events when it has read them.",
    .report = "tromp/cuckoo#69",
    .file = "scenarios/cpp/cuda/events_never_destroyed.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .needs_cuda = true,
    .set_up = set_up_of<TimedTraining<TimerThatCleansUp>>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
