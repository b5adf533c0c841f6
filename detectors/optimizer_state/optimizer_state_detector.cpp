// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "detectors/optimizer_state/optimizer_state_detector.hpp"

#include "harness/analyse/storage_growth.hpp"
#include "harness/analyse/suspects.hpp"

namespace stepleak {

namespace {

// The parameters are what the state follows, and the statement that adds them is what to change.
void lead_to_statement(const Recording& recording, const std::vector<const Survivor*>& held, Finding& finding) {
  if (finding.kept_by.line > 0) return;
  for (const auto* tensor : held) {
    if (tensor->holder < 0 || recording.holders.at(static_cast<std::size_t>(tensor->holder)).kept_by.line == 0)
      continue;
    set_holder(recording, tensor->holder, finding);
    return;
  }
}

}  // namespace

std::vector<Finding> OptimizerStateDetector::detect(const Evidence& evidence) const {
  std::vector<Finding> findings;
  for (const auto& growth : storage_growths_of(evidence)) {
    std::vector<const Survivor*> held;
    std::size_t known = 0;
    std::size_t of_optimizer = 0;
    for (const auto* group : {&growth.computed, &growth.fresh, &growth.views}) {
      for (const auto* tensor : *group) {
        if (tensor->is_optimizer_state || tensor->holder < 0) held.push_back(tensor);
        if (tensor->is_optimizer_state) ++of_optimizer;
        if (tensor->holder >= 0) ++known;
      }
    }
    // Siblings are not all searched: those whose holder is known speak for them, and an optimizer must hold most.
    if (of_optimizer == 0 || 2 * of_optimizer < known) continue;
    auto finding = storage_finding(evidence.recording, growth, kind(), held);
    lead_to_statement(evidence.recording, held, finding);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace stepleak
