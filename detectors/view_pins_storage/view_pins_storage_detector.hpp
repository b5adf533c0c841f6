// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analyse/detector.hpp"

namespace stepleak {

/// Small views keep large storages: of the surviving storages' bytes, the views need half at most.
/// The rule with its thresholds and known errors: view_pins_storage_detector.md.
class ViewPinsStorageDetector final : public Detector {
 public:
  [[nodiscard]] Kind kind() const override { return Kind::view_pins_storage; }
  [[nodiscard]] std::vector<Finding> detect(const Evidence& evidence) const override;
};

}  // namespace stepleak
