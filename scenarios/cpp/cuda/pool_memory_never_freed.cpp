// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

// Far below the chunks in which the driver accounts memory: only who counts the calls sees it at once.
constexpr std::size_t kScratchBytes = std::size_t{48} << 10;

/// What a custom kernel sums in, from CUDA's own stream-ordered pool.
class Scratch {
 public:
  Scratch() { C10_CUDA_CHECK(cudaMallocAsync(&memory_, kScratchBytes, c10::cuda::getCurrentCUDAStream())); }

  void clear() const { C10_CUDA_CHECK(cudaMemsetAsync(memory_, 0, kScratchBytes, c10::cuda::getCurrentCUDAStream())); }

 protected:
  void* memory_ = nullptr;
};

class ScratchThatIsFreed : public Scratch {
 public:
  ScratchThatIsFreed() = default;
  ScratchThatIsFreed(const ScratchThatIsFreed&) = delete;
  ScratchThatIsFreed& operator=(const ScratchThatIsFreed&) = delete;
  ~ScratchThatIsFreed() { (void)cudaFreeAsync(memory_, c10::cuda::getCurrentCUDAStream()); }
};

template <typename Memory>
class KernelTraining : SmallTraining {
 public:
  explicit KernelTraining(torch::Device device) : SmallTraining(device) {}

  void step() {
    const c10::cuda::CUDAGuard on_device(device_);
    const Memory scratch;
    scratch.clear();
    const auto inputs = torch::rand({kBatch, kWidth}, device_);
    optimizer_.zero_grad();
    torch::mse_loss(model_->forward(inputs), inputs).backward();
    optimizer_.step();
  }
};

const Registration kLeak{{
    .name = "cpp_cuda_pool_memory_never_freed",
    .story =
        "A custom kernel takes 48 KiB of scratch memory by cudaMallocAsync in each step and never frees it. CUDA's "
        "pool takes memory in larger chunks, so that the process's account moves now and then only.",
    .report = "pytorch/pytorch#599",
    .file = "scenarios/cpp/cuda/pool_memory_never_freed.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::raw_cuda},
    .lines = {"cudaMallocAsync(&memory_", "const Memory scratch;"},
    .needs_cuda = true,
    .set_up = set_up_of<KernelTraining<Scratch>>(),
}};

const Registration kClean{{
    .name = "cpp_cuda_pool_memory_never_freed_clean",
    .story = "The same scratch memory goes back to the pool at the end of the step.",
    .report = "pytorch/pytorch#599",
    .file = "scenarios/cpp/cuda/pool_memory_never_freed.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .needs_cuda = true,
    .set_up = set_up_of<KernelTraining<ScratchThatIsFreed>>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
