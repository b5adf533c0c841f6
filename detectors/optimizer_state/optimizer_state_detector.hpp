// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analyse/detector.hpp"

namespace stepleak {

/// Tensors that an optimizer keeps for parameters that the step no longer trains pile up.
/// The rule with its thresholds and known errors: optimizer_state_detector.md.
class OptimizerStateDetector final : public Detector {
 public:
  [[nodiscard]] Kind kind() const override { return Kind::optimizer_state; }
  [[nodiscard]] std::vector<Finding> detect(const Evidence& evidence) const override;
};

}  // namespace stepleak
