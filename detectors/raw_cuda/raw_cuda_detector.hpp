// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analyse/detector.hpp"

namespace stepleak {

/// Device memory, streams, events, graphs and private pools outside the caching allocator's tensors grow.
/// The rule with its thresholds and known errors: raw_cuda_detector.md.
class RawCudaDetector final : public Detector {
 public:
  [[nodiscard]] Kind kind() const override { return Kind::raw_cuda; }
  [[nodiscard]] std::vector<Finding> detect(const Evidence& evidence) const override;
};

}  // namespace stepleak
