// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/probes/sampled_probe.hpp"

namespace stepleak {

/// Host memory of the process: malloc'ed bytes in use (all arenas, glibc's `mallinfo2`) and RSS.
/// Sampled at every kHeapStride-th boundary, since glibc walks all free chunks for an answer. Both are noisy: the heap
/// counts tcache and library caches, RSS moves with the kernel's laziness. Not seen: pymalloc's arenas and other
/// mappings, except in RSS.
class HostProbe final : public SampledProbe {
 public:
  HostProbe() : SampledProbe(kHeapStride) {}

  [[nodiscard]] std::string_view name() const override { return "host"; }
  [[nodiscard]] std::vector<SeriesKey> keys() const override;
  void read(Moment moment, std::span<std::int64_t> row) override;

 private:
  void sample() override;

  std::int64_t heap_ = 0;
  std::int64_t resident_ = 0;
};

}  // namespace stepleak
