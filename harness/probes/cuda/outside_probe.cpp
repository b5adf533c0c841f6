// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/cuda/outside_probe.hpp"

#include <ATen/core/CachingHostAllocator.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>

#include "harness/probes/cuda/cuda_devices.hpp"
#include "harness/probes/cuda/nvml.hpp"

namespace stepleak {
namespace {

constexpr std::int64_t kStepsASample = 16;

// `active_*` are wrong in torch 2.10 and 2.11 (pytorch#183067); this is what is cached and in use.
std::int64_t pinned_bytes() { return at::getHostAllocator(at::kCUDA)->get_stats().allocated_bytes.current; }

// Zero where the back end keeps no statistics: then everything on the device is outside.
std::int64_t reserved_bytes(std::size_t index) {
  if (!has_statistics()) return 0;
  return c10::cuda::CUDACachingAllocator::getDeviceStats(static_cast<c10::DeviceIndex>(index))
      .reserved_bytes[0]
      .current;
}

// What the device's own pool, which cudaMallocAsync takes from, has in hand beside the blocks that are in use. It grows
// by chunks, of which each holds many blocks; what it has beyond two of these it has taken for good.
std::int64_t pool_slack(std::size_t index) {
  constexpr std::int64_t kMost = std::int64_t{64} << 20;
  cudaMemPool_t pool = nullptr;
  std::uint64_t reserved = 0;
  std::uint64_t used = 0;
  const bool is_known = has_statistics() &&
                        cudaDeviceGetDefaultMemPool(&pool, static_cast<int>(index)) == cudaSuccess &&
                        cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved) == cudaSuccess &&
                        cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used) == cudaSuccess;
  if (!is_known) {
    (void)cudaGetLastError();  // it must not reach the user's next check
    return 0;
  }
  return std::min(static_cast<std::int64_t>(reserved - used), kMost);
}

}  // namespace

OutsideProbe::OutsideProbe(std::size_t device_count) : SampledProbe(kStepsASample) {
  for (std::size_t i = 0; i < device_count; ++i) bus_ids_.push_back(pci_bus_id(device_at(i)));
}

std::string OutsideProbe::gap() const {
  std::string devices;
  for (std::size_t i = 0; i < bus_ids_.size(); ++i) {
    if (!has_context(device_at(i)) || process_memory(bus_ids_[i])) continue;
    devices += (devices.empty() ? "" : ", ") + to_string(device_at(i));
  }
  if (devices.empty()) return {};
  return fmt::format(
      "the driver does not account memory to this process on {}: memory outside torch's allocator is that of the whole "
      "device, other processes included",
      devices);
}

std::vector<SeriesKey> OutsideProbe::keys() const {
  std::vector<SeriesKey> keys{{Counter::pinned_bytes}};
  for (std::size_t i = 0; i < bus_ids_.size(); ++i) keys.push_back({Counter::outside_bytes, device_at(i)});
  return keys;
}

void OutsideProbe::settle() {
  SampledProbe::settle();
  if (settled_pinned_ && pinned_bytes() > *settled_pinned_) at::getHostAllocator(at::kCUDA)->empty_cache();
  settled_pinned_ = pinned_bytes();
}

void OutsideProbe::read(Moment moment, std::span<std::int64_t> row) {
  if (moment != Moment::after_collection) return;
  row[0] = pinned_bytes();
  if (!is_due()) return;
  for (std::size_t i = 0; i < bus_ids_.size(); ++i) {
    if (!has_context(device_at(i))) {
      row[i + 1] = 0;
      continue;
    }
    const auto own = process_memory(bus_ids_[i]);
    row[i + 1] = (own ? *own : memory_of(device_at(i)).used) - reserved_bytes(i) - pool_slack(i);
  }
}

}  // namespace stepleak
