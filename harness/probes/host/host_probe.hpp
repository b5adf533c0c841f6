// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/probes/probe.hpp"

namespace stepleak {

/// Host memory of the process: malloc'ed bytes in use (all arenas, glibc's `mallinfo2`) and RSS.
/// Read at every kHeapStride-th boundary of the screen pass, since glibc walks all free chunks for an answer; the
/// explain pass, where nothing is judged, holds the last value. Both are noisy: the heap counts tcache and library
/// caches, RSS moves with the kernel's laziness. Not seen: pymalloc's arenas and other mappings, except in RSS.
class HostProbe final : public Probe {
 public:
  [[nodiscard]] std::string_view name() const override { return "host"; }
  [[nodiscard]] std::vector<SeriesKey> keys() const override;
  void start() override { sample(); }
  void begin_step(std::int64_t step) override { step_ = step; }
  void read(Moment moment, std::span<std::int64_t> row) override;
  void begin_explain() override { is_explaining_ = true; }
  void end_explain(Trace& /*trace*/) override { is_explaining_ = false; }

 private:
  void sample();

  bool is_explaining_ = false;
  std::int64_t step_ = 0;
  std::int64_t heap_ = 0;
  std::int64_t resident_ = 0;
};

}  // namespace stepleak
