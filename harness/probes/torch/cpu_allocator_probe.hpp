// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "harness/probes/probe.hpp"

namespace stepleak {

struct Block;
class StackTable;

/// Tensor memory on the host, exact: every allocation and free through c10's CPU allocator, by wrapping it.
///
/// The wrapper is installed by the first instance and stays for the life of the process, because storages
/// and deleters keep pointing at it; it costs some tens of nanoseconds an allocation. Allocations made
/// before count as never seen. Not seen: memory from `from_blob`, NumPy or DLPack, shared-memory storages,
/// scratch memory of oneDNN and MKL; the host probe's heap covers those.
/// Construct it before other threads allocate: c10::SetCPUAllocator is not thread-safe.
class CpuAllocatorProbe final : public Probe {
 public:
  explicit CpuAllocatorProbe(std::shared_ptr<StackTable> stacks);

  [[nodiscard]] std::string_view name() const override { return "cpu allocator"; }
  [[nodiscard]] std::vector<SeriesKey> keys() const override;
  void start() override;
  void begin_step(std::int64_t step) override;
  void read(Moment moment, std::span<std::int64_t> row) override;
  void read_cohorts(std::vector<CohortTable>& tables) override;
  void record_stacks(bool is_recording) override;
  void begin_explain() override;
  void end_explain(Trace& trace) override;
  void read_blocks(Trace& trace) override;

 private:
  void add_blocks(Trace& trace, const std::function<bool(const Block&)>& is_wanted);

  std::shared_ptr<StackTable> stacks_;
};

}  // namespace stepleak
