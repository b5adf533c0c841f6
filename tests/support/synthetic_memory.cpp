// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/synthetic_memory.hpp"

#include <set>

namespace stepleak {
namespace {

constexpr std::int64_t kHeapStride = 8;  // as HostProbe's

}  // namespace

SyntheticMemory::Block SyntheticMemory::add(std::int64_t bytes, bool is_kept) {
  live_bytes_ += bytes;
  kept_count_ += is_kept ? 1 : 0;
  tensors_.emplace_hint(tensors_.end(), ++last_, Tensor{bytes, step_, is_kept});
  return last_;
}

void SyntheticMemory::drop(Block block) {
  const auto dead = tensors_.find(block);
  if (dead == tensors_.end()) return;
  live_bytes_ -= dead->second.bytes;
  kept_count_ -= dead->second.is_kept ? 1 : 0;
  tensors_.erase(dead);
}

SyntheticProbe::SyntheticProbe(SyntheticMemory& memory, bool has_python)
    : SampledProbe(kHeapStride),
      memory_(memory),
      keys_{{Counter::live_bytes},
            {Counter::live_blocks},
            {Counter::live_nodes},
            {Counter::live_tensors},
            {Counter::heap_bytes}} {
  if (has_python) keys_.push_back({Counter::python_objects});
}

void SyntheticProbe::read(Moment moment, std::span<std::int64_t> row) {
  if (moment == Moment::before_collection) return;
  const auto blocks = static_cast<std::int64_t>(memory_.tensors_.size());
  row[0] = memory_.live_bytes_;
  row[1] = blocks;
  row[2] = 0;
  row[3] = blocks;
  // Its tensors lie in the heap, too.
  if (is_due()) row[4] = memory_.heap_bytes_ + memory_.live_bytes_;
  if (keys_.size() > 5) row[5] = memory_.objects_;
}

void SyntheticProbe::read_cohorts(std::vector<CohortTable>& tables) {
  CohortTable table{.at_step = memory_.step_, .cohorts = {}};
  for (const auto& [block, tensor] : memory_.tensors_) {
    if (table.cohorts.empty() || table.cohorts.back().birth_step != tensor.birth_step) {
      table.cohorts.push_back({.birth_step = tensor.birth_step});
    }
    table.cohorts.back().bytes += tensor.bytes;
    table.cohorts.back().blocks += 1;
  }
  tables.push_back(std::move(table));
}

void SyntheticProbe::end_record(Recording& recording) {
  SampledProbe::end_record(recording);
  for (const auto& [block, tensor] : memory_.tensors_) {
    if (!recording.is_recorded(tensor.birth_step)) continue;
    Survivor survivor{.birth_step = tensor.birth_step,
                      .identity = memory_.address_of(block),
                      .storage = memory_.address_of(block),
                      .bytes = tensor.bytes,
                      .storage_bytes = tensor.bytes};
    recording.survivors.push_back(survivor);
    survivor.type = SurvivorType::tensor;
    survivor.name = "float32";
    survivor.dims = 1;
    recording.survivors.push_back(survivor);
  }
}

void SyntheticHolderSearch::search(Recording& recording) {
  recording.objects.nodes.push_back({.type = "list", .name = "train.kept", .length = memory_.kept_count_});
  recording.holders.push_back(
      {.held = 0, .container = 0, .structure = structure_, .has_new_keys_only = has_new_keys_only_});
  std::set<std::uint64_t> kept;
  for (const auto& [block, tensor] : memory_.tensors_) {
    if (tensor.is_kept) kept.insert(memory_.address_of(block));
  }
  for (auto& survivor : recording.survivors) {
    if (kept.contains(survivor.identity)) survivor.holder = 0;
  }
}

}  // namespace stepleak
