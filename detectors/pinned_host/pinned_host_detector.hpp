// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analyse/detector.hpp"

namespace stepleak {

/// Page-locked host memory of torch's host allocator grows.
/// The rule with its thresholds and known errors: pinned_host_detector.md.
class PinnedHostDetector final : public Detector {
 public:
  [[nodiscard]] Kind kind() const override { return Kind::pinned_host; }
  [[nodiscard]] std::vector<Finding> detect(const Evidence& evidence) const override;
};

}  // namespace stepleak
