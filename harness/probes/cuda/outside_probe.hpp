// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/probes/sampled_probe.hpp"

namespace stepleak {

/// Memory outside torch's caching allocators: on each GPU what the driver accounts to this process less what the
/// caching allocator has reserved (contexts, modules, raw cudaMalloc, other libraries), and the page-locked host memory
/// of torch's own host allocator, in use and cached.
///
/// Of the device's own pool, which grows by chunks, only what is in use counts, up to two chunks: so a block of
/// `cudaMallocAsync` is seen where it stays, and not only the chunk that it makes necessary.
///
/// The device part is noisy: it moves in chunks of 2 MiB, and a driver that does not know the process (another pid
/// namespace, MIG) answers for the whole device, other processes included. It is sampled at every 16th step, since
/// asking the driver takes some tens of microseconds, and wherever the run settles. Not seen: what a library pins
/// itself (cudaMallocHost, cudaHostRegister). Construct it after CUDA was started.
///
/// A page-locked block is taken anew where the copies out of those before it are still to be done: how many are cached
/// is the furthest that launches were ever ahead, and rises now and then in healthy programs. So where there is more
/// than at the look before, what is cached goes back to the system at a look, and what is read there is in use.
class OutsideProbe final : public SampledProbe {
 public:
  explicit OutsideProbe(std::size_t device_count);

  [[nodiscard]] std::string_view name() const override { return "memory outside the caching allocator"; }
  [[nodiscard]] std::string gap() const override;
  [[nodiscard]] std::vector<SeriesKey> keys() const override;
  void settle() override;
  void read(Moment moment, std::span<std::int64_t> row) override;

 private:
  std::optional<std::int64_t> settled_pinned_;  // bytes, at the look before
  std::vector<std::string> bus_ids_;
};

}  // namespace stepleak
