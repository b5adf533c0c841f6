// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analyse/detector.hpp"

namespace stepleak {

/// Memory that only a collection would free while the user's code keeps it from the collector, or that nothing can
/// free: survivors whose own graph leads back to them, or to which no root of the program leads.
/// The rule with its thresholds and known errors: reference_cycle_detector.md.
class ReferenceCycleDetector final : public Detector {
 public:
  [[nodiscard]] Kind kind() const override { return Kind::reference_cycle; }
  [[nodiscard]] std::vector<Finding> detect(const Evidence& evidence) const override;
};

}  // namespace stepleak
