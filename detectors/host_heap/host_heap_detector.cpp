// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "detectors/host_heap/host_heap_detector.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/bytes.hpp"
#include "harness/detect/evidence.hpp"
#include "harness/detect/host_growth.hpp"

namespace stepleak {

std::vector<Finding> HostHeapDetector::detect(const Trace& trace) const {
  const auto growth = host_growth_of(trace);
  if (!growth.is_leak) return {};
  Finding finding{.kind = kind()};
  finding.bytes_per_step = std::max(0.0, growth.heap.per_step);
  finding.what = fmt::format("{} of host heap outside tensors stay of every step", format_bytes(growth.heap.per_step));
  finding.since_step = growth.heap.since_step;
  if (growth.objects.is_growing()) {
    finding.count_per_step = growth.objects.per_step;
    finding.counted = "python objects";
    finding.since_step = growth.objects.since_step;
    finding.what =
        fmt::format("{} and {} of host heap stay of every step", count_text(growth.objects.per_step, "python object"),
                    format_bytes(finding.bytes_per_step));
  }
  finding.accounts_for = {{Counter::heap_bytes}, {Counter::python_objects}};
  if (trace.explained_from >= 0) {
    // Python objects have no allocation stack here; the holder search names what grew.
    for (const auto& holder : trace.holders) {
      if (holder.container_type.empty()) continue;
      finding.holder = holder.path;
      finding.holder_shape = holder.shape;
      finding.kept_expression = holder.kept_expression;
      if (!holder.kept_by.empty()) {
        finding.where = {{holder.kept_at_file, holder.kept_at_line, "", holder.kept_by, true}};
      }
      break;
    }
  }
  return {finding};
}

}  // namespace stepleak
