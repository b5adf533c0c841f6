// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "harness/trace/finding.hpp"
#include "harness/trace/trace.hpp"

namespace stepleak {

/// Turns a trace into findings of one kind. A pure function: no clock, no global, no I/O; the same trace
/// gives the same findings. Thread-safe.
class Detector {
 public:
  virtual ~Detector() = default;
  [[nodiscard]] virtual Kind kind() const = 0;
  /// Empty where this kind of growth is not shown. Before the explain pass a finding has no place and no holder.
  [[nodiscard]] virtual std::vector<Finding> detect(const Trace& trace) const = 0;
};

}  // namespace stepleak
