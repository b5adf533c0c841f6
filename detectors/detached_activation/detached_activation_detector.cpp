// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "detectors/detached_activation/detached_activation_detector.hpp"

#include "harness/analyse/storage_growth.hpp"

namespace stepleak {

std::vector<Finding> DetachedActivationDetector::detect(const Evidence& evidence) const {
  std::vector<Finding> findings;
  for (const auto& growth : storage_growths_of(evidence)) {
    if (growth.cause != StorageGrowth::Cause::computed) continue;
    findings.push_back(storage_finding(evidence.recording, growth, kind(), growth.computed));
  }
  return findings;
}

}  // namespace stepleak
