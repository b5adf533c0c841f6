// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analyse/detector.hpp"

namespace stepleak {

/// Losses or metrics kept as tensors: autograd nodes grow, and what keeps them is a scalar with a grad_fn, or
/// a node that no tensor shows.
/// The rule with its thresholds and known errors: graph_retention_detector.md.
class GraphRetentionDetector final : public Detector {
 public:
  [[nodiscard]] Kind kind() const override { return Kind::graph_retention; }
  [[nodiscard]] std::vector<Finding> detect(const Evidence& evidence) const override;
};

}  // namespace stepleak
