// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "harness/probes/probe.hpp"

namespace stepleak {

struct Block;
class StackTable;

/// Tensor memory on the host, exact: every allocation and free through c10's CPU allocator, by taking its place.
///
/// The first instance does so for the life of the process, because storages and deleters keep pointing at it; it costs
/// some tens of nanoseconds an allocation in a run, and next to nothing else. Storages made by tensor factories, deep
/// copies, unpickling and resizing all ask it, also through tensors of the set-up. What was allocated before the run
/// counts as never seen. Where the user has registered an allocator of their own, only what goes through that is seen.
/// Not seen: memory from `from_blob`, NumPy or DLPack and scratch memory of oneDNN and MKL, which the host probe's heap
/// covers; shared memory (`share_memory_`, batches of a loader's workers), which is a ledger of its own.
/// Construct it before other threads allocate: exchanging the allocator is not thread-safe.
class CpuAllocatorProbe final : public Probe {
 public:
  explicit CpuAllocatorProbe(std::shared_ptr<StackTable> stacks);
  ~CpuAllocatorProbe() override;

  [[nodiscard]] std::string_view name() const override { return "cpu allocator"; }
  [[nodiscard]] std::vector<SeriesKey> keys() const override;
  void start() override;
  void begin_step(std::int64_t step) override;
  void read(Moment moment, std::span<std::int64_t> row) override;
  void read_cohorts(std::vector<CohortTable>& tables) override;
  void record_stacks(bool is_recording) override;
  void begin_record(const Pass& pass) override;
  void end_record(Recording& recording) override;
  void read_blocks(Recording& recording) override;

 private:
  void add_blocks(Recording& recording, const std::function<bool(const Block&)>& is_wanted);

  std::shared_ptr<StackTable> stacks_;
};

}  // namespace stepleak
