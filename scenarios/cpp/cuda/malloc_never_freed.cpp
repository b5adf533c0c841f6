// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include "scenarios/cpp/small_training.hpp"

namespace stepleak::scenarios {
namespace {

// The driver hands out memory in chunks of this size: less would show only now and then.
constexpr std::size_t kWorkspaceBytes = std::size_t{2} << 20;

void* new_workspace() {
  void* workspace = nullptr;
  C10_CUDA_CHECK(cudaMalloc(&workspace, kWorkspaceBytes));
  return workspace;
}

/// Trains with a custom kernel that wants scratch memory beside torch's allocator.
class KernelTraining : SmallTraining {
 protected:
  explicit KernelTraining(torch::Device device) : SmallTraining(device) {}

  void train(void* workspace) {
    C10_CUDA_CHECK(cudaMemsetAsync(workspace, 0, kWorkspaceBytes, c10::cuda::getCurrentCUDAStream()));
    const auto inputs = torch::rand({kBatch, kWidth}, device_);
    optimizer_.zero_grad();
    torch::mse_loss(model_->forward(inputs), inputs).backward();
    optimizer_.step();
  }

  [[nodiscard]] c10::cuda::CUDAGuard guard() const { return c10::cuda::CUDAGuard(device_); }
};

class WorkspaceOfEachCall : KernelTraining {
 public:
  explicit WorkspaceOfEachCall(torch::Device device) : KernelTraining(device) {}

  void step() {
    const auto on_device = guard();
    train(new_workspace());
  }
};

class WorkspaceOfTheRun : KernelTraining {
 public:
  explicit WorkspaceOfTheRun(torch::Device device) : KernelTraining(device) {
    const auto on_device = guard();
    workspace_ = new_workspace();
  }
  WorkspaceOfTheRun(const WorkspaceOfTheRun&) = delete;
  WorkspaceOfTheRun& operator=(const WorkspaceOfTheRun&) = delete;
  ~WorkspaceOfTheRun() { (void)cudaFree(workspace_); }

  void step() {
    const auto on_device = guard();
    train(workspace_);
  }

 private:
  void* workspace_ = nullptr;
};

const Registration kLeak{{
    .name = "cpp_cuda_malloc_never_freed",
    .story = "A custom kernel takes two MiB of scratch memory by cudaMalloc in each call and never frees it. torch's "
             "allocator knows nothing of it: live and reserved bytes are flat while the process takes ever more.",
    .report = "pytorch/pytorch#599",
    .file = "scenarios/cpp/cuda/malloc_never_freed.cpp",
    .expected = Verdict::leak,
    .kinds = {Kind::raw_cuda},
    .lines = {"cudaMalloc(&workspace", "train(new_workspace());"},
    .needs_cuda = true,
    .set_up = set_up_of<WorkspaceOfEachCall>(),
}};

const Registration kClean{{
    .name = "cpp_cuda_malloc_never_freed_clean",
    .story = "The same kernel takes its scratch memory once and uses it in every step.",
    .report = "pytorch/pytorch#599",
    .file = "scenarios/cpp/cuda/malloc_never_freed.cpp",
    .expected = Verdict::clean,
    .kinds = {},
    .needs_cuda = true,
    .set_up = set_up_of<WorkspaceOfTheRun>(),
}};

}  // namespace
}  // namespace stepleak::scenarios
