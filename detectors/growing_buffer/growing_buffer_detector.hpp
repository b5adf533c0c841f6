// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analyse/detector.hpp"

namespace stepleak {

/// One buffer is reborn larger each step: bytes grow while the number of blocks does not.
/// The rule with its thresholds and known errors: growing_buffer_detector.md.
class GrowingBufferDetector final : public Detector {
 public:
  [[nodiscard]] Kind kind() const override { return Kind::growing_buffer; }
  [[nodiscard]] std::vector<Finding> detect(const Evidence& evidence) const override;
};

}  // namespace stepleak
