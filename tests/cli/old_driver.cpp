// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Preloaded, it answers as CUDA's runtime does beside a driver that is older than it: no test machine has one.

#include <cuda_runtime_api.h>

extern "C" cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  return cudaErrorInsufficientDriver;
}

extern "C" cudaError_t cudaDriverGetVersion(int* version) {
  *version = 12040;
  return cudaSuccess;
}
