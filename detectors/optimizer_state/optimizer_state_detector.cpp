// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "detectors/optimizer_state/optimizer_state_detector.hpp"

#include "harness/analyse/storage_growth.hpp"

namespace stepleak {

std::vector<Finding> OptimizerStateDetector::detect(const Evidence& evidence) const {
  std::vector<Finding> findings;
  for (const auto& growth : storage_growths_of(evidence)) {
    std::vector<const Survivor*> held;
    for (const auto* group : {&growth.computed, &growth.fresh, &growth.views}) {
      for (const auto* tensor : *group) {
        if (tensor->is_optimizer_state) held.push_back(tensor);
      }
    }
    // Siblings are not all searched: one that an optimizer holds speaks for those born beside it.
    if (held.empty()) continue;
    findings.push_back(storage_finding(evidence.recording, growth, kind(), held));
  }
  return findings;
}

}  // namespace stepleak
