// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <stdexcept>

#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

// The least that physical memory comes in, on each GPU of today.
constexpr std::size_t kChunkBytes = std::size_t{2} << 20;

/// A function of the driver, by the version that it has been since.
template <typename Function>
Function driver_function(const char* name, unsigned int version) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult answer{};
  C10_CUDA_CHECK(cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &answer));
  return reinterpret_cast<Function>(found);
}

/// A piece of physical memory, as who manages memory by itself maps it into a range of addresses that grows.
class Chunk {
 public:
  explicit Chunk(int device) {
    static const auto create = driver_function<decltype(&::cuMemCreate)>("cuMemCreate", 10020);
    CUmemAllocationProp of{};
    of.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    of.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    of.location.id = device;
    if (create(&handle_, kChunkBytes, &of, 0) != CUDA_SUCCESS) throw std::runtime_error("cuMemCreate failed");
  }

 protected:
  CUmemGenericAllocationHandle handle_ = 0;
};

class ChunkThatIsReleased : public Chunk {
 public:
  using Chunk::Chunk;
  ChunkThatIsReleased(const ChunkThatIsReleased&) = delete;
  ChunkThatIsReleased& operator=(const ChunkThatIsReleased&) = delete;
  ~ChunkThatIsReleased() {
    static const auto release = driver_function<decltype(&::cuMemRelease)>("cuMemRelease", 10020);
    (void)release(handle_);
  }
};

template <typename Memory>
class CacheTraining : SmallTraining {
 public:
  explicit CacheTraining(torch::Device device) : SmallTraining(device) {}

  void step() {
    const c10::cuda::CUDAGuard on_device(device_);
    const Memory page(on_device.current_device().index());
    const auto inputs = torch::rand({kBatch, kWidth}, device_);
    optimizer_.zero_grad();
    torch::mse_loss(model_->forward(inputs), inputs).backward();
    optimizer_.step();
  }
};

const Registration kLeak{{
    .name = "cpp_cuda_virtual_memory_never_released",
    .story =
        "A cache of the user's takes a page of two MiB by cuMemCreate in each step and never releases it: physical "
        "memory that no allocator of CUDA's or torch's knows.",
    .report = "pytorch/pytorch#599",
    .file = "scenarios/cpp/cuda/virtual_memory_never_released.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::raw_cuda},
    .lines = {"create(&handle_", "const Memory page("},
    .needs_cuda = true,
    .set_up = set_up_of<CacheTraining<Chunk>>(),
}};

const Registration kClean{{
    .name = "cpp_cuda_virtual_memory_never_released_clean",
    .story = "The same page is released at the end of the step.",
    .report = "pytorch/pytorch#599",
    .file = "scenarios/cpp/cuda/virtual_memory_never_released.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .needs_cuda = true,
    .set_up = set_up_of<CacheTraining<ChunkThatIsReleased>>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
