// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "detectors/view_pins_storage/view_pins_storage_detector.hpp"

#include "harness/analyse/storage_growth.hpp"

namespace stepleak {

std::vector<Finding> ViewPinsStorageDetector::detect(const Evidence& evidence) const {
  std::vector<Finding> findings;
  for (const auto& growth : storage_growths_of(evidence)) {
    if (growth.cause != StorageGrowth::Cause::views) continue;
    findings.push_back(storage_finding(evidence.recording, growth, kind(), growth.views));
  }
  return findings;
}

}  // namespace stepleak
