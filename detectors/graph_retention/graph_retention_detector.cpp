// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "detectors/graph_retention/graph_retention_detector.hpp"

#include "harness/analyse/graph_growth.hpp"

namespace stepleak {

std::vector<Finding> GraphRetentionDetector::detect(const Evidence& evidence) const {
  const auto growth = graph_growth_of(evidence);
  if (!growth || growth->is_cyclic || !growth->is_kept_by_scalar) return {};
  return {graph_finding(evidence, *growth, kind())};
}

}  // namespace stepleak
