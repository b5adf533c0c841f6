// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/analyse/losses.hpp"

#include <algorithm>

#include "harness/analyse/host_growth.hpp"

namespace stepleak {
namespace {

double growth_of(const Trend& trend) { return trend.is_growing() ? trend.per_step : 0; }

double bytes_per_step_of(const Trends& trends, Device device) {
  const auto live = growth_of(trends.of({Counter::live_bytes, device}));
  if (device == kHost) {
    const auto heap = std::max(growth_of(trends.heap()), growth_of(trends.supported_heap()));
    return live + heap + mapped_bytes_lost(trends) + growth_of(trends.of({Counter::pinned_bytes})) +
           growth_of(trends.of({Counter::shared_bytes}));
  }
  // Live tensors lie within what is reserved: the larger of both is lost.
  const auto reserved = growth_of(trends.of({Counter::reserved_bytes, device}));
  return std::max({live, reserved, growth_of(trends.waiting(device))}) +
         growth_of(trends.of({Counter::outside_bytes, device}));
}

}  // namespace

std::vector<Loss> losses_of(const Trends& trends, const std::vector<DeviceCapacity>& capacities) {
  std::vector<Loss> losses;
  for (const auto& device : trends.devices()) {
    Loss loss{.device = device, .bytes_per_step = bytes_per_step_of(trends, device)};
    if (loss.bytes_per_step <= 0) continue;
    for (const auto& capacity : capacities) {
      if (capacity.device != device) continue;
      const auto free_bytes = static_cast<double>(capacity.total_bytes - capacity.used_bytes);
      loss.full_after = std::max<std::int64_t>(1, static_cast<std::int64_t>(free_bytes / loss.bytes_per_step));
    }
    // What graphs, copies and objects take there is not in it before the heap's own trend is known.
    const auto& heap = trends.heap();
    const bool is_heap_known = heap.is_growing() || heap.is_flat() || trends.supported_heap().is_growing();
    loss.is_least = device == kHost && !is_heap_known;
    losses.push_back(loss);
  }
  std::stable_sort(losses.begin(), losses.end(),
                   [](const Loss& a, const Loss& b) { return a.bytes_per_step > b.bytes_per_step; });
  return losses;
}

}  // namespace stepleak
