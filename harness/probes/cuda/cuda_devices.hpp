// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/trace/device.hpp"

namespace stepleak {

/// The device of an index in CUDA's order.
inline Device device_at(std::size_t index) { return {DeviceType::cuda, static_cast<std::int16_t>(index)}; }

/// What CUDA answers here: the visible devices, or why there are none and what to do.
struct CudaAnswer {
  std::vector<std::string> names;  ///< one a visible device, in CUDA's order: "NVIDIA H200"
  std::string reason;              ///< empty where there are devices
  std::string remedy;
};

/// Asks in this process. Makes no context, but starts the driver: never before a fork that shall use CUDA.
[[nodiscard]] CudaAnswer ask_cuda();

/// Asks in a child process, so that this one can still fork workers that use CUDA; once, then remembered.
[[nodiscard]] const CudaAnswer& ask_cuda_in_child();

/// The device's model, versions of driver and runtime, the allocator's back end, and what this torch lacks, for the
/// result.
[[nodiscard]] std::map<std::string, std::string> cuda_conditions(Device device);

/// Bus address of a device, as NVML wants it: "00000000:04:00.0".
[[nodiscard]] std::string pci_bus_id(Device device);

/// Device memory in use by all processes, and the whole of it, in bytes. The device needs a context.
struct DeviceMemory {
  std::int64_t used = 0;
  std::int64_t total = 0;
};
[[nodiscard]] DeviceMemory memory_of(Device device);

/// Whether device tensors bypass the cache, each with a call of the driver (PYTORCH_NO_CUDA_MEMORY_CACHING).
[[nodiscard]] bool is_uncached();

/// Whether torch's allocator keeps statistics: neither an uncached nor a pluggable one does.
[[nodiscard]] bool has_statistics();

/// Whether this process has a context on the device; asking makes none.
[[nodiscard]] bool has_context(Device device);

}  // namespace stepleak
