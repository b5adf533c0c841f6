// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/detect/host_growth.hpp"

namespace stepleak {

HostGrowth host_growth_of(const Trace& trace) {
  HostGrowth growth{.heap = heap_trend(trace), .objects = exact_trend(trace, {Counter::python_objects})};
  const auto supported = trend_of(untensored_heap(trace),
                                  {.period = trace.declared_period, .floor = kSupportedFloorBytes, .is_exact = false});
  const bool are_objects_heavy =
      growth.objects.is_growing() && (supported.is_growing() || growth.objects.per_step >= kHeavyObjects);
  growth.is_leak = growth.heap.is_growing() || are_objects_heavy;
  if (!growth.heap.is_growing() && supported.is_growing() && growth.objects.is_growing()) growth.heap = supported;
  const bool are_objects_settled = !trace.has({Counter::python_objects}) || growth.objects.is_flat() ||
                                   (growth.objects.is_growing() && !are_objects_heavy && supported.is_flat());
  growth.is_settled = (growth.heap.is_flat() || !trace.has({Counter::heap_bytes})) && are_objects_settled;
  return growth;
}

}  // namespace stepleak
