// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "detectors/fragmentation_drift/fragmentation_drift_detector.hpp"

#include <fmt/format.h>

#include "harness/analyse/device_growth.hpp"
#include "harness/analyse/suspects.hpp"
#include "harness/base/bytes.hpp"

namespace stepleak {

std::vector<Finding> FragmentationDriftDetector::detect(const Evidence& evidence) const {
  std::vector<Finding> findings;
  for (const auto& growth : device_growths_of(evidence.trace, evidence.trends)) {
    if (!growth.is_drifting() || growth.waiting.is_growing() || growth.private_pool.is_growing()) continue;
    const auto segments = evidence.trends.of({Counter::segment_count, growth.device});
    const auto largest =
        values_of(evidence.trace, {Counter::largest_free_block_bytes, growth.device}, evidence.trends.judged());
    Finding finding{.kind = kind(), .device = growth.device};
    finding.bytes_per_step = growth.reserved.per_step;
    finding.count_per_step = std::max(0.0, segments.per_step);
    finding.counted = Counted::segments;
    finding.since_step = growth.reserved.since_step;
    finding.what = fmt::format("{} more are reserved every step since step {} while live tensors take no more",
                               format_bytes(finding.bytes_per_step), finding.since_step);
    if (!largest.empty()) {
      finding.what += fmt::format("; the largest free block is {}", format_bytes(static_cast<double>(largest.back())));
    }
    // Where nothing cached was large enough, a segment was taken.
    add_suspects(evidence.recording, segments_taken(evidence.recording, growth.device), finding);
    finding.accounts_for = {{Counter::reserved_bytes, growth.device}};
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace stepleak
