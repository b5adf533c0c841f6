// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "detectors/optimizer_state/optimizer_state_detector.hpp"

#include "harness/analyse/storage_growth.hpp"

namespace stepleak {

std::vector<Finding> OptimizerStateDetector::detect(const Evidence& evidence) const {
  std::vector<Finding> findings;
  for (const auto& growth : storage_growths_of(evidence)) {
    std::vector<const Survivor*> held;
    std::size_t known = 0;
    for (const auto* group : {&growth.computed, &growth.fresh, &growth.views}) {
      for (const auto* tensor : *group) {
        if (tensor->is_optimizer_state) held.push_back(tensor);
        if (tensor->holder >= 0) ++known;
      }
    }
    // Siblings are not all searched: those whose holder is known speak for them, and an optimizer must hold most.
    if (held.empty() || 2 * held.size() < known) continue;
    findings.push_back(storage_finding(evidence.recording, growth, kind(), held));
  }
  return findings;
}

}  // namespace stepleak
