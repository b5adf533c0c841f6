// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/api/result_of.hpp"

#include "detectors/detectors.hpp"
#include "harness/explain/conclusion.hpp"

namespace stepleak {

Result result_of(const RunRecord& record) {
  const auto all = all_detectors();
  std::vector<const Detector*> detectors;
  for (const auto& detector : all) detectors.push_back(detector.get());
  return conclude(record, detectors);
}

}  // namespace stepleak
