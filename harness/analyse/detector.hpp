// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "harness/analyse/evidence.hpp"
#include "harness/trace/finding.hpp"

namespace stepleak {

/// Turns evidence into findings of one kind. A pure function: no clock, no global, no I/O; the same evidence
/// gives the same findings. Thread-safe.
class Detector {
 public:
  virtual ~Detector() = default;
  [[nodiscard]] virtual Kind kind() const = 0;
  /// Empty where this kind of growth is not shown. Without a recording a finding has no place and no holder.
  [[nodiscard]] virtual std::vector<Finding> detect(const Evidence& evidence) const = 0;
};

}  // namespace stepleak
