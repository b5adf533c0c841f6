// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "harness/probes/probe.hpp"

namespace stepleak {

class StackTable;

/// Native host memory outside tensors that stays, by the stacks that allocated it: the witness of the heap's ledger. In
/// record passes that ask for it only, where every malloc and free of the process is told (see hook_allocations()); a
/// stack is captured where an earlier step's allocation of the same caller and size is still alive.
///
/// Not seen: memory that libraries map themselves, small objects of Python's own allocator, and what a block that grows
/// by realloc() has in common with the smaller one before. Of Python steps the place is Python's; it is not known in
/// Python 3.13 and 3.14, whose frames cannot be read inside malloc.
class HeapProbe final : public Probe {
 public:
  explicit HeapProbe(std::shared_ptr<StackTable> stacks);
  ~HeapProbe() override;

  [[nodiscard]] std::string_view name() const override { return "heap allocations"; }
  [[nodiscard]] std::vector<SeriesKey> keys() const override { return {}; }
  void stop() noexcept override;
  void begin_step(std::int64_t step) override;
  void read(Moment moment, std::span<std::int64_t> row) override;
  void record_stacks(bool is_recording) override;
  void begin_record(const Pass& pass) override;
  /// After the probes that know tensors' blocks.
  void end_record(Recording& recording) override;

 private:
  std::shared_ptr<StackTable> stacks_;
  bool is_hooked_ = false;
  bool is_recording_ = false;
};

}  // namespace stepleak
