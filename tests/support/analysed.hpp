// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "harness/analyse/decision.hpp"
#include "harness/analyse/detector.hpp"
#include "harness/analyse/record_outcome.hpp"

namespace stepleak {

/// A trace with all that judge and detectors are handed of it.
class Analysed {
 public:
  explicit Analysed(Trace trace) : trace_(std::move(trace)), trends_(trace_) {}

  [[nodiscard]] Decision decision(const Policy& policy = {}) const { return decide(trace_, trends_, policy); }
  [[nodiscard]] std::vector<Finding> findings(const Detector& detector) const {
    return detector.detect({trace_, trends_, recording_after_look(trace_)});
  }
  [[nodiscard]] RecordOutcome outcome(const Detector& detector) const {
    return outcome_of({trace_, trends_, recording_after_look(trace_)}, findings(detector));
  }
  [[nodiscard]] const Trends& trends() const { return trends_; }

 private:
  Trace trace_;
  Trends trends_;
};

}  // namespace stepleak
