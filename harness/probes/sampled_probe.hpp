// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "harness/probes/probe.hpp"

namespace stepleak {

/// A probe whose reading is expensive: it is taken at the first and every `stride`-th boundary and wherever the run
/// settles, and not in a record pass, whose own memory it would show.
class SampledProbe : public Probe {
 public:
  explicit SampledProbe(std::int64_t stride) : stride_(stride) {}

  void start() override { is_recording_ = false; }
  // The first too: a worker may not live to see another.
  void begin_step(std::int64_t step) override { is_due_ = step == 1 || step % stride_ == 0; }
  void settle() override { is_due_ = true; }
  void begin_record(const Pass& /*pass*/) override { is_recording_ = true; }
  void end_record(Recording& /*recording*/) override { is_recording_ = false; }

 protected:
  /// Whether the expensive columns are to be read at this boundary.
  [[nodiscard]] bool is_due() const { return is_due_ && !is_recording_; }

 private:
  std::int64_t stride_;
  bool is_due_ = false;
  bool is_recording_ = false;
};

}  // namespace stepleak
