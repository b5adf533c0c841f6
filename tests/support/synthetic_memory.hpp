// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "harness/probes/holder_search.hpp"
#include "harness/probes/sampled_probe.hpp"

namespace stepleak {

/// The memory of a step that allocates nothing: what it would hold, by birth step. Tensors on the host, and the host
/// heap around them.
class SyntheticMemory {
 public:
  using Block = std::uint64_t;

  /// `addresses` says where the blocks lie: another number, other addresses in another order.
  explicit SyntheticMemory(std::uint64_t addresses = 0) : addresses_(addresses) {}

  /// A tensor that the program's container holds: its sources tell what bounds that.
  Block keep(std::int64_t bytes) { return add(bytes, true); }
  /// Any other tensor.
  Block hold(std::int64_t bytes) { return add(bytes, false); }
  void drop(Block block);
  /// Bytes of the host heap outside tensors.
  void take_heap(std::int64_t bytes) { heap_bytes_ += bytes; }
  /// Objects that Python's collector tracks.
  void take_objects(std::int64_t count) { objects_ += count; }

  void begin_step(std::int64_t step) { step_ = step; }

 private:
  friend class SyntheticProbe;
  friend class SyntheticHolderSearch;

  struct Tensor {
    std::int64_t bytes = 0;
    std::int64_t birth_step = 0;
    bool is_kept = false;
  };

  Block add(std::int64_t bytes, bool is_kept);
  // Odd factors make no two blocks one.
  [[nodiscard]] std::uint64_t address_of(Block block) const { return (2 * addresses_ + 1) * block; }

  std::uint64_t addresses_;
  std::map<Block, Tensor> tensors_;  // in the order of their births
  Block last_ = 0;
  std::int64_t step_ = 0;
  std::int64_t live_bytes_ = 0;
  std::int64_t kept_count_ = 0;
  std::int64_t heap_bytes_ = 0;
  std::int64_t objects_ = 0;
};

/// Reads it as the probes of a CPU run read a process: tensors at each boundary, the host heap at every eighth.
class SyntheticProbe final : public SampledProbe {
 public:
  explicit SyntheticProbe(SyntheticMemory& memory, bool has_python);

  [[nodiscard]] std::string_view name() const override { return "synthetic"; }
  [[nodiscard]] std::vector<SeriesKey> keys() const override { return keys_; }
  void read(Moment moment, std::span<std::int64_t> row) override;
  void read_cohorts(std::vector<CohortTable>& tables) override;
  void end_record(Recording& recording) override;

 private:
  SyntheticMemory& memory_;
  std::vector<SeriesKey> keys_;
};

/// Names the container, with what the program's sources say of it.
class SyntheticHolderSearch final : public HolderSearch {
 public:
  SyntheticHolderSearch(const SyntheticMemory& memory, Structure structure, bool has_new_keys_only = false)
      : memory_(memory), structure_(std::move(structure)), has_new_keys_only_(has_new_keys_only) {}
  void search(Recording& recording) override;

 private:
  const SyntheticMemory& memory_;
  Structure structure_;
  bool has_new_keys_only_;
};

}  // namespace stepleak
