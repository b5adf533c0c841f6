// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "detectors/attached_activation/attached_activation_detector.hpp"

#include "harness/analyse/graph_growth.hpp"

namespace stepleak {

std::vector<Finding> AttachedActivationDetector::detect(const Evidence& evidence) const {
  const auto growth = graph_growth_of(evidence);
  if (!growth || growth->is_cyclic || growth->is_kept_by_scalar) return {};
  return {graph_finding(evidence, *growth, kind())};
}

}  // namespace stepleak
