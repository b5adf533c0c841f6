// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/probes/probe.hpp"

namespace stepleak {

/// Host memory of the process: malloc'ed bytes in use (all arenas, glibc's `mallinfo2`) and RSS.
/// Both are noisy: the heap counts tcache and library caches, RSS moves with the kernel's laziness.
/// Not seen: pymalloc's arenas and other mappings, except in RSS.
class HostProbe final : public Probe {
 public:
  [[nodiscard]] std::string_view name() const override { return "host"; }
  [[nodiscard]] std::vector<SeriesKey> keys() const override;
  void read(Moment moment, std::span<std::int64_t> row) override;
};

}  // namespace stepleak
