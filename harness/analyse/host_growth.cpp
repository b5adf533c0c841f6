// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/analyse/host_growth.hpp"

namespace stepleak {

HostGrowth host_growth_of(const Trace& trace, const Trends& trends) {
  HostGrowth growth{.heap = trends.heap(), .objects = trends.of({Counter::python_objects})};
  const auto& supported = trends.supported_heap();
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
