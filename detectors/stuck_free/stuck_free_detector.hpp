// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analyse/detector.hpp"

namespace stepleak {

/// Freed device memory that waits for a stream and does not come back: active less live grows.
/// The rule with its thresholds and known errors: stuck_free_detector.md.
class StuckFreeDetector final : public Detector {
 public:
  [[nodiscard]] Kind kind() const override { return Kind::stuck_free; }
  [[nodiscard]] std::vector<Finding> detect(const Evidence& evidence) const override;
};

}  // namespace stepleak
