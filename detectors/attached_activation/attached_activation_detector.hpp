// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analyse/detector.hpp"

namespace stepleak {

/// An activation, state or replay item kept without detach: autograd nodes grow, and what keeps them is a
/// tensor of more than one element with a grad_fn.
/// The rule with its thresholds and known errors: attached_activation_detector.md.
class AttachedActivationDetector final : public Detector {
 public:
  [[nodiscard]] Kind kind() const override { return Kind::attached_activation; }
  [[nodiscard]] std::vector<Finding> detect(const Evidence& evidence) const override;
};

}  // namespace stepleak
