// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/probes/sampled_probe.hpp"

namespace stepleak {

/// Memory outside torch's caching allocators: on each GPU what the driver accounts to this process less what the
/// caching allocator has reserved (contexts, modules, raw cudaMalloc, other libraries), and the page-locked host memory
/// of torch's own host allocator, in use and cached.
///
/// The device part is noisy: it moves in chunks of 2 MiB, and a driver that does not know the process (another pid
/// namespace, MIG) answers for the whole device, other processes included. It is sampled at every 16th step, since
/// asking the driver takes some tens of microseconds, and wherever the run settles. Not seen: what a library pins
/// itself (cudaMallocHost, cudaHostRegister). Construct it after CUDA was started.
class OutsideProbe final : public SampledProbe {
 public:
  explicit OutsideProbe(std::size_t device_count);

  [[nodiscard]] std::string_view name() const override { return "memory outside the caching allocator"; }
  [[nodiscard]] std::string gap() const override;
  [[nodiscard]] std::vector<SeriesKey> keys() const override;
  void read(Moment moment, std::span<std::int64_t> row) override;

 private:
  std::vector<std::string> bus_ids_;
};

}  // namespace stepleak
