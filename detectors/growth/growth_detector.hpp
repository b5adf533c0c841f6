// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analyse/detector.hpp"

namespace stepleak {

/// Tensor memory grows and nothing narrower is proven: the survivors are fresh tensors (batches, buffers) or
/// blocks that no known tensor uses.
/// The rule with its thresholds and known errors: growth_detector.md.
class GrowthDetector final : public Detector {
 public:
  [[nodiscard]] Kind kind() const override { return Kind::growth; }
  [[nodiscard]] std::vector<Finding> detect(const Evidence& evidence) const override;
};

}  // namespace stepleak
