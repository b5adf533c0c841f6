// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "harness/probes/probe.hpp"

namespace stepleak {

struct AllocatorBlock;
class StackTable;

/// Device memory of torch's caching allocator, exact, for every visible GPU.
///
/// Levels come from the allocator's own statistics (rounded to its blocks); births come from its trace tracker,
/// which the first instance attaches for the life of the process (torch has no detach) and which records an event
/// under a leaf lock of ours, without an allocation. Allocations made before count in the levels and in no cohort.
///
/// Back ends: `native`, also with expandable segments, is fully observed. `cudaMallocAsync` has statistics and no
/// tracker: levels without cohorts and stacks. A pluggable allocator and PYTORCH_NO_CUDA_MEMORY_CACHING=1 have
/// neither: all columns stay 0, and only outside_bytes shows what the device gives. gap() says which.
///
/// Construct it after the set-up: it starts CUDA. Called from the runner's thread; events come from any.
class DeviceAllocatorProbe final : public Probe {
 public:
  explicit DeviceAllocatorProbe(std::shared_ptr<StackTable> stacks);
  ~DeviceAllocatorProbe() override;

  [[nodiscard]] std::string_view name() const override { return "device allocator"; }
  [[nodiscard]] std::string gap() const override;
  [[nodiscard]] std::vector<SeriesKey> keys() const override;
  void start() override;
  void begin_step(std::int64_t step) override;
  void settle() override;
  void read(Moment moment, std::span<std::int64_t> row) override;
  void read_cohorts(std::vector<CohortTable>& tables) override;
  void record_stacks(bool is_recording) override;
  void begin_record(const Pass& pass) override;
  void end_record(Recording& recording) override;
  void read_blocks(Recording& recording) override;

 private:
  [[nodiscard]] Survivor to_survivor(const AllocatorBlock& block, std::size_t device, std::int64_t birth_step);

  std::shared_ptr<StackTable> stacks_;
  bool is_started_ = false;
};

}  // namespace stepleak
