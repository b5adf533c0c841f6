// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/probes/probe.hpp"

namespace stepleak {

/// A probe whose reading is dear: it is taken at every `stride`-th boundary of the screen pass and held in between. The
/// explain pass, where nothing is judged, holds the last one.
class SampledProbe : public Probe {
 public:
  explicit SampledProbe(std::int64_t stride) : stride_(stride) {}

  void start() override { sample(); }
  void begin_step(std::int64_t step) override { step_ = step; }
  void begin_explain() override { is_explaining_ = true; }
  void end_explain(Trace& /*trace*/) override { is_explaining_ = false; }

 protected:
  virtual void sample() = 0;
  void sample_if_due() {
    if (step_ % stride_ == 0 && !is_explaining_) sample();
  }

 private:
  std::int64_t stride_;
  std::int64_t step_ = 0;
  bool is_explaining_ = false;
};

}  // namespace stepleak
