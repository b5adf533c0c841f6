// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

#include <array>

#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

constexpr std::size_t kStreams = 4;
using Streams = std::array<cudaStream_t, kStreams>;

Streams new_streams() {
  Streams streams{};
  for (auto& stream : streams) C10_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return streams;
}

/// Clears the halo of its field in four parts, each on a stream of its own, and trains on the rest.
class HaloTraining : SmallTraining {
 protected:
  explicit HaloTraining(torch::Device device)
      : SmallTraining(device), halo_(torch::zeros({kStreams, kWidth}, device)) {}

  void clear_halo(const Streams& streams) {
    for (std::size_t i = 0; i < kStreams; ++i) {
      auto part = halo_[static_cast<std::int64_t>(i)];
      C10_CUDA_CHECK(cudaMemsetAsync(part.data_ptr(), 0, part.nbytes(), streams[i]));
    }
    for (const auto stream : streams) C10_CUDA_CHECK(cudaStreamSynchronize(stream));
  }

  void train() {
    const auto inputs = torch::rand({kBatch, kWidth}, device_);
    optimizer_.zero_grad();
    torch::mse_loss(model_->forward(inputs), inputs).backward();
    optimizer_.step();
  }

  [[nodiscard]] c10::cuda::CUDAGuard guard() const { return c10::cuda::CUDAGuard(device_); }

 private:
  torch::Tensor halo_;
};

class NewStreamsEachStep : HaloTraining {
 public:
  explicit NewStreamsEachStep(torch::Device device) : HaloTraining(device) {}

  void step() {
    const auto on_device = guard();
    clear_halo(new_streams());
    train();
  }
};

class StreamsOfTheRun : HaloTraining {
 public:
  explicit StreamsOfTheRun(torch::Device device) : HaloTraining(device) {
    const auto on_device = guard();
    streams_ = new_streams();
  }
  StreamsOfTheRun(const StreamsOfTheRun&) = delete;
  StreamsOfTheRun& operator=(const StreamsOfTheRun&) = delete;
  ~StreamsOfTheRun() {
    for (const auto stream : streams_) (void)cudaStreamDestroy(stream);
  }

  void step() {
    const auto on_device = guard();
    clear_halo(streams_);
    train();
  }

 private:
  Streams streams_{};
};

const Registration kLeak{{
    .name = "cpp_cuda_streams_never_destroyed",
    .story = "Each step creates four CUDA streams to clear four parts of a buffer at once, and destroys none. The "
             "driver keeps the host and device memory of each.",
    .report = "inducer/pycuda#370",
    .file = "scenarios/cpp/cuda/streams_never_destroyed.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::raw_cuda, Kind::host_heap},
    .lines = {"cudaStreamCreateWithFlags(&stream"},
    .needs_cuda = true,
    .set_up = set_up_of<NewStreamsEachStep>(),
}};

const Registration kClean{{
    .name = "cpp_cuda_streams_never_destroyed_clean",
    .story = "The same buffer is cleared on four streams that are created once and used in every step.",
    .report = "inducer/pycuda#370",
    .file = "scenarios/cpp/cuda/streams_never_destroyed.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .needs_cuda = true,
    .set_up = set_up_of<StreamsOfTheRun>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
