// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "detectors/growth/growth_detector.hpp"

#include "harness/analyse/storage_growth.hpp"

namespace stepleak {

std::vector<Finding> GrowthDetector::detect(const Evidence& evidence) const {
  using Cause = StorageGrowth::Cause;
  std::vector<Finding> findings;
  for (const auto& growth : storage_growths_of(evidence)) {
    if (growth.cause == Cause::fresh)
      findings.push_back(storage_finding(evidence.recording, growth, kind(), growth.fresh));
    if (growth.cause == Cause::unknown)
      findings.push_back(storage_finding(evidence.recording, growth, kind(), growth.unknown));
  }
  return findings;
}

}  // namespace stepleak
