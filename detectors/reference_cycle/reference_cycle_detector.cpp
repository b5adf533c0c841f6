// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "detectors/reference_cycle/reference_cycle_detector.hpp"

#include <fmt/format.h>

#include "harness/base/bytes.hpp"
#include "harness/detect/evidence.hpp"
#include "harness/detect/graph_growth.hpp"
#include "harness/detect/storage_growth.hpp"

namespace stepleak {
namespace {

// What only our forced collections free, where the program itself never collects.
std::vector<Finding> uncollected(const Trace& trace) {
  std::vector<Finding> findings;
  if (!trace.collector.has_python || trace.collector.is_enabled) return findings;
  for (const auto& device : trace.devices()) {
    const auto trend = trend_of(collected_bytes(trace, device), {.period = trace.declared_period});
    if (!trend.is_growing()) continue;
    Finding finding{.kind = Kind::reference_cycle, .device = device};
    finding.bytes_per_step = trend.per_step;
    finding.since_step = trend.since_step;
    finding.what = fmt::format("{} of tensors die in reference cycles every step, and the collector is switched off",
                               format_bytes(trend.per_step));
    finding.accounts_for = {{Counter::live_bytes, device, Moment::before_collection}};
    add_suspects(trace, survivors_where(trace, [](const Survivor& s) { return s.is_collected; }), finding);
    finding.kept_count = finding.explained_steps = 0;  // our own collections freed them
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

std::vector<Finding> ReferenceCycleDetector::detect(const Trace& trace) const {
  auto findings = uncollected(trace);
  if (const auto growth = graph_growth_of(trace); growth && growth->is_cyclic) {
    auto finding = graph_finding(trace, *growth, kind());
    finding.what += ", in graphs that lead back to themselves";
    findings.push_back(std::move(finding));
    return findings;
  }
  for (const auto& growth : storage_growths_of(trace)) {
    if (growth.cause != StorageGrowth::Cause::unreachable) continue;
    auto finding = storage_finding(trace, growth, kind(), growth.unreachable);
    finding.what += ", and nothing in the program leads to it";
    finding.accounts_for.push_back({Counter::live_nodes});
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace stepleak
