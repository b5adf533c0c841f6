// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "harness/probes/probe.hpp"

namespace stepleak {

struct Block;
class StackTable;

/// From now on tensors' memory on the host is recorded, as a run needs it that judges steps which let go of what their
/// set-up made. For the life of the process, because storages and deleters keep pointing at the allocator that takes
/// the place of c10's; it costs some tens of nanoseconds an allocation. Before other threads allocate: exchanging the
/// allocator is not thread-safe. Nothing where the allocator in use cannot be watched.
void record_cpu_tensors() noexcept;

/// Records the memory of tensors that were made before, and of their gradients, by the addresses of their TensorImpls.
/// Whoever calls it keeps them alive meanwhile. What is not plain memory of torch's own allocator is left alone.
void adopt_cpu_tensors(std::span<const std::uintptr_t> impls);

/// Recorded blocks on the host that were there before the run, and still are.
[[nodiscard]] std::int64_t live_set_up_blocks() noexcept;

/// Tensor memory on the host, exact: every allocation and free through c10's CPU allocator, by taking its place
/// (record_cpu_tensors()).
///
/// Storages made by tensor factories, deep copies, unpickling and resizing all ask it, also through tensors of the
/// set-up. What was allocated before and not adopted counts as never seen: its end does not, either. Where the user has
/// registered an allocator of their own, only what goes through that is seen.
/// Not seen: memory from `from_blob`, NumPy or DLPack and scratch memory of oneDNN and MKL, which the host probe's heap
/// covers; shared memory (`share_memory_`, batches of a loader's workers), which is a ledger of its own.
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
