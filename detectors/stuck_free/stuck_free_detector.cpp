// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "detectors/stuck_free/stuck_free_detector.hpp"

#include <fmt/format.h>

#include "harness/analyse/device_growth.hpp"
#include "harness/analyse/suspects.hpp"
#include "harness/base/bytes.hpp"

namespace stepleak {

std::vector<Finding> StuckFreeDetector::detect(const Evidence& evidence) const {
  std::vector<Finding> findings;
  for (const auto& growth : device_growths_of(evidence.trace, evidence.trends)) {
    if (!growth.waiting.is_growing()) continue;
    Finding finding{.kind = kind(), .device = growth.device};
    finding.bytes_per_step = growth.waiting.per_step;
    finding.since_step = growth.waiting.since_step;
    finding.what = fmt::format("{} are freed every step since step {} and never given back: they wait for a stream",
                               format_bytes(finding.bytes_per_step), finding.since_step);
    finding.accounts_for = {{Counter::active_bytes, growth.device},
                            {Counter::reserved_bytes, growth.device},
                            {Counter::private_pool_bytes, growth.device}};
    add_suspects(evidence.recording, handles_of(evidence.recording, growth.device, HandleType::waiting_block), finding);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace stepleak
