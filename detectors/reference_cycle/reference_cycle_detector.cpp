// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "detectors/reference_cycle/reference_cycle_detector.hpp"

#include <fmt/format.h>

#include "harness/analyse/graph_growth.hpp"
#include "harness/analyse/storage_growth.hpp"
#include "harness/analyse/suspects.hpp"
#include "harness/base/bytes.hpp"

namespace stepleak {
namespace {

// What only our forced collections free, where the program itself never collects.
std::vector<Finding> uncollected(const Evidence& evidence) {
  std::vector<Finding> findings;
  if (!evidence.trace.facts().has_python || evidence.trace.is_collector_enabled()) return findings;
  for (const auto& device : evidence.trends.devices()) {
    const auto& trend = evidence.trends.collected(device);
    if (!trend.is_growing()) continue;
    Finding finding{.kind = Kind::reference_cycle, .device = device};
    finding.bytes_per_step = trend.per_step;
    finding.since_step = trend.since_step;
    finding.what = fmt::format(
        "{} of tensors die in reference cycles every step, and the collector is kept from them (off, or gc.freeze)",
        format_bytes(trend.per_step));
    finding.accounts_for = {{Counter::live_bytes, device, Moment::before_collection}};
    add_suspects(evidence.recording,
                 survivors_where(evidence.recording, [](const Survivor& s) { return s.is_collected; }), finding);
    finding.kept_count = finding.explained_steps = 0;  // our own collections freed them
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

std::vector<Finding> ReferenceCycleDetector::detect(const Evidence& evidence) const {
  auto findings = uncollected(evidence);
  if (const auto growth = graph_growth_of(evidence); growth && growth->is_cyclic) {
    auto finding = graph_finding(evidence, *growth, kind());
    finding.what += ", in graphs that lead back to themselves";
    findings.push_back(std::move(finding));
    return findings;
  }
  for (const auto& growth : storage_growths_of(evidence)) {
    if (growth.cause != StorageGrowth::Cause::unreachable) continue;
    auto finding = storage_finding(evidence.recording, growth, kind(), growth.unreachable);
    finding.what += ", and nothing in the program leads to it";
    finding.accounts_for.push_back({Counter::live_nodes});
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace stepleak
