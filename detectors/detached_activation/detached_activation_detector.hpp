// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analyse/detector.hpp"

namespace stepleak {

/// Computed tensors kept without a graph, whole: bytes and blocks grow, nodes do not.
/// The rule with its thresholds and known errors: detached_activation_detector.md.
class DetachedActivationDetector final : public Detector {
 public:
  [[nodiscard]] Kind kind() const override { return Kind::detached_activation; }
  [[nodiscard]] std::vector<Finding> detect(const Evidence& evidence) const override;
};

}  // namespace stepleak
