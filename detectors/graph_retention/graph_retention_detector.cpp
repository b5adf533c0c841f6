// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "detectors/graph_retention/graph_retention_detector.hpp"

#include "harness/detect/graph_growth.hpp"

namespace stepleak {

std::vector<Finding> GraphRetentionDetector::detect(const Trace& trace) const {
  const auto growth = graph_growth_of(trace);
  if (!growth || growth->is_cyclic || !growth->is_kept_by_scalar) return {};
  return {graph_finding(trace, *growth, kind())};
}

}  // namespace stepleak
