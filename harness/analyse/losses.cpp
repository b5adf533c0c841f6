// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/analyse/losses.hpp"

#include <algorithm>
#include <set>

#include "harness/analyse/gains.hpp"
#include "harness/analyse/host_growth.hpp"
#include "harness/analyse/suspects.hpp"

namespace stepleak {
namespace {

double growth_of(const Trend& trend) { return trend.is_growing() ? trend.per_step : 0; }

// Blocks of Python's own allocator (ALIGNMENT and SMALL_REQUEST_THRESHOLD of CPython's Objects/obmalloc.c).
constexpr double kSmallestPythonBlock = 16;
constexpr double kLargestPythonBlock = 512;
// What the collector tracks has its header, and one of its own (PyGC_Head and PyObject, 16 bytes each).
constexpr double kSmallestObject = 32;

struct PythonBlocks {
  double bytes_per_step = 0;
  bool is_least = false;
};

PythonBlocks python_blocks_lost(const Evidence& evidence) {
  const auto blocks = growth_of(evidence.trends.of({Counter::python_blocks}));
  if (blocks <= 0) return {};
  double weighed_blocks = 0;
  double weighed_bytes = 0;
  std::set<int> seen;
  for (const auto& holder : evidence.recording.holders) {
    if (!is_of_growth(holder) || !holder.is_weighed || !seen.insert(grown_of(holder)).second) continue;
    weighed_blocks += static_cast<double>(holder.gained_blocks);
    weighed_bytes += static_cast<double>(holder.gained_block_bytes);
  }
  const auto steps = static_cast<double>(std::max<std::int64_t>(1, evidence.recording.steps));
  // A list and a dict are weighed as one block, and lie in two.
  return {
      .bytes_per_step = std::clamp(weighed_bytes / steps, blocks * kSmallestPythonBlock, blocks * kLargestPythonBlock),
      .is_least = 2 * weighed_blocks < blocks * steps};
}

double bytes_per_step_of(const Evidence& evidence, Device device, const PythonBlocks& blocks) {
  const auto& trends = evidence.trends;
  const auto live = growth_of(trends.of({Counter::live_bytes, device}));
  if (device == kHost) {
    const auto heap = std::max(growth_of(trends.heap()), growth_of(trends.supported_heap()));
    // The allocator's arenas are mapped: what lies in them is not lost twice.
    return live + heap + std::max(mapped_bytes_lost(trends), blocks.bytes_per_step) +
           growth_of(trends.of({Counter::pinned_bytes})) + growth_of(trends.of({Counter::shared_bytes}));
  }
  // Live tensors and private pools lie within what is reserved: the largest of them is lost. What is reserved for each
  // new stream as well may rise too unevenly to be called growing.
  const auto reserved = growth_of(trends.of({Counter::reserved_bytes, device}));
  const auto pools = growth_of(trends.of({Counter::private_pool_bytes, device}));
  return std::max({live, reserved, pools, growth_of(trends.waiting(device))}) +
         std::max(growth_of(trends.of({Counter::outside_bytes, device})), raw_bytes_kept(evidence.recording, device));
}

}  // namespace

std::vector<Loss> losses_of(const Evidence& evidence, const std::vector<DeviceCapacity>& capacities) {
  const auto& trends = evidence.trends;
  const auto blocks = python_blocks_lost(evidence);
  const auto& recording = evidence.recording;
  const auto host = host_growth_of(evidence.trace, trends);
  const auto holder = holder_of_few_objects(recording, host);
  const auto few = bytes_of_few_objects(recording, holder);
  std::vector<Loss> losses;
  for (const auto& device : trends.devices()) {
    Loss loss{.device = device, .bytes_per_step = bytes_per_step_of(evidence, device, blocks)};
    const auto known = device == kHost ? std::max(loss.bytes_per_step, few) : loss.bytes_per_step;
    const auto objects = device == kHost && host.is_leak ? kSmallestObject * growth_of(host.objects) : 0;
    loss.bytes_per_step = std::max(known, objects);
    if (loss.bytes_per_step <= 0) continue;
    for (const auto& capacity : capacities) {
      if (capacity.device != device) continue;
      const auto free_bytes = static_cast<double>(capacity.total_bytes - capacity.used_bytes);
      loss.full_after = std::max<std::int64_t>(1, static_cast<std::int64_t>(free_bytes / loss.bytes_per_step));
    }
    // What graphs, copies and objects take there is not in it before the heap's own trend is known.
    const auto& heap = trends.heap();
    const bool is_heap_in_it = heap.is_growing() || trends.supported_heap().is_growing();
    const bool is_heap_known = is_heap_in_it || heap.is_flat();
    // Nor what lies below its floor, where that may be more than all that was seen.
    const bool is_slight = !is_heap_in_it && loss.bytes_per_step < kHeapFloorBytes;
    loss.is_least = device == kHost && (!is_heap_known || blocks.is_least || is_slight || objects > known);
    losses.push_back(loss);
  }
  std::stable_sort(losses.begin(), losses.end(),
                   [](const Loss& a, const Loss& b) { return a.bytes_per_step > b.bytes_per_step; });
  return losses;
}

}  // namespace stepleak
