// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// An allocator of a user's own, as torch.cuda.memory.CUDAPluggableAllocator takes it.

#include <cuda_runtime_api.h>

#include <cstddef>

extern "C" void* take(std::size_t bytes, int /*device*/, cudaStream_t /*stream*/) {
  void* memory = nullptr;
  return cudaMalloc(&memory, bytes) == cudaSuccess ? memory : nullptr;
}

extern "C" void give_back(void* memory, std::size_t /*bytes*/, int /*device*/, cudaStream_t /*stream*/) {
  (void)cudaFree(memory);
}
