// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analyse/detector.hpp"

namespace stepleak {

/// Host memory outside tensors grows: malloc'ed bytes, or objects that Python's collector tracks.
/// The rule with its thresholds and known errors: host_heap_detector.md.
class HostHeapDetector final : public Detector {
 public:
  [[nodiscard]] Kind kind() const override { return Kind::host_heap; }
  [[nodiscard]] std::vector<Finding> detect(const Evidence& evidence) const override;
};

}  // namespace stepleak
