// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analyse/detector.hpp"

namespace stepleak {

/// Memory reserved from the driver grows at equal live bytes: what is free fits nothing that is asked for.
/// The rule with its thresholds and known errors: fragmentation_drift_detector.md.
class FragmentationDriftDetector final : public Detector {
 public:
  [[nodiscard]] Kind kind() const override { return Kind::fragmentation_drift; }
  [[nodiscard]] std::vector<Finding> detect(const Evidence& evidence) const override;
};

}  // namespace stepleak
