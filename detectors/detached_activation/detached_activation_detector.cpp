// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "detectors/detached_activation/detached_activation_detector.hpp"

#include "harness/detect/storage_growth.hpp"

namespace stepleak {

std::vector<Finding> DetachedActivationDetector::detect(const Trace& trace) const {
  std::vector<Finding> findings;
  for (const auto& growth : storage_growths_of(trace)) {
    if (growth.cause != StorageGrowth::Cause::computed) continue;
    findings.push_back(storage_finding(trace, growth, kind(), growth.computed));
  }
  return findings;
}

}  // namespace stepleak
