// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/probes/host/host_heap.hpp"
#include "harness/probes/host/mappings.hpp"
#include "harness/probes/sampled_probe.hpp"

namespace stepleak {

/// Host memory of the process: malloc'ed bytes in use (all arenas) where the allocator tells them, and RSS.
/// Sampled at every eighth boundary: glibc walks all free chunks for an answer, which takes 0.3 ms in a process with
/// torch, and 3 ms where Python's objects are malloc'ed too. Both are noisy: the heap counts what other threads' caches
/// keep and libraries' caches, RSS moves with the kernel's laziness. Writable mappings of others than malloc (`mmap`,
/// threads' stacks, pymalloc's arenas, page-locked memory) are told where malloc is glibc's. Shared memory is read at
/// every boundary while there is any (5 to 20 us where the size of all mappings stays as it was).
class HostProbe final : public SampledProbe {
 public:
  HostProbe() : SampledProbe(8), sees_mapped_(heap_.is_seen() && heap_.bytes().mapped >= 0) {}

  [[nodiscard]] std::string_view name() const override { return "host"; }
  [[nodiscard]] std::string gap() const override;
  /// Without heap_bytes where malloc tells nothing.
  [[nodiscard]] std::vector<SeriesKey> keys() const override;
  [[nodiscard]] const HostHeap& heap() const { return heap_; }
  void settle() override {
    SampledProbe::settle();
    mappings_.check();
  }
  void read(Moment moment, std::span<std::int64_t> row) override;

 private:
  HostHeap heap_;
  Mappings mappings_;
  bool sees_mapped_;
  std::int64_t shared_ = 0;  // at the last reading
};

}  // namespace stepleak
