// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/block_table.hpp"

#include <map>
#include <span>
#include <vector>

#include "harness/base/errors.hpp"
#include "harness/probes/leaf_lock.hpp"

namespace stepleak {
namespace {

// Threads that allocate at once mostly find parts of their own.
constexpr std::size_t kShards = std::size_t{1} << BlockShard::kBits;

bool is_of_set_up(const Block& block) { return block.address != 0 && block.birth_step == 0; }

}  // namespace

// On a cache line of its own: a lock that is taken must not slow down its neighbours.
struct alignas(64) BlockTable::Shard {
  LeafLock lock;
  BlockShard blocks;
};

Survivor survivor_of(const Block& block, Device device, int stack) {
  return {.device = device,
          .birth_step = block.birth_step,
          .identity = block.address,
          .storage = block.address,
          .bytes = block.bytes,
          .storage_bytes = block.bytes,
          .stack = stack};
}

BlockTable::BlockTable(std::size_t capacity) : shards_(std::make_unique<Shard[]>(kShards)) {
  for (auto& shard : std::span(shards_.get(), kShards)) {
    if (shard.blocks.start(capacity / kShards)) continue;
    throw failure_error("no memory for the table of live allocations", "raise the memory limit");
  }
}

BlockTable::~BlockTable() = default;

BlockTable::Shard& BlockTable::shard_of(std::uintptr_t address) const noexcept {
  return shards_[hash_of(address) >> (64 - BlockShard::kBits)];
}

void BlockTable::insert(const Block& block) noexcept {
  auto& shard = shard_of(block.address);
  std::optional<Block> replaced;
  if (const LeafGuard guard(shard.lock); guard) replaced = shard.blocks.insert(block);
  if (!replaced) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (is_of_set_up(block)) set_up_blocks_.fetch_add(1, std::memory_order_relaxed);
  if (is_of_set_up(*replaced)) set_up_blocks_.fetch_sub(1, std::memory_order_relaxed);
  const auto more = block.bytes - replaced->bytes;
  const auto live = live_bytes_.fetch_add(more, std::memory_order_relaxed) + more;
  auto peak = peak_bytes_.load(std::memory_order_relaxed);
  while (live > peak && !peak_bytes_.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
}

bool BlockTable::erase(std::uintptr_t address) noexcept {
  auto& shard = shard_of(address);
  std::optional<Block> erased;
  if (const LeafGuard guard(shard.lock); guard) erased = shard.blocks.erase(address);
  if (!erased) return false;
  if (is_of_set_up(*erased)) set_up_blocks_.fetch_sub(1, std::memory_order_relaxed);
  live_bytes_.fetch_sub(erased->bytes, std::memory_order_relaxed);
  return true;
}

std::int64_t BlockTable::live_blocks() const noexcept {
  std::size_t blocks = 0;
  for (const auto& shard : std::span(shards_.get(), kShards)) blocks += shard.blocks.size();
  return static_cast<std::int64_t>(blocks);
}

std::size_t BlockTable::mapped_bytes() const noexcept {
  std::size_t bytes = 0;
  for (auto& shard : std::span(shards_.get(), kShards)) {
    if (const LeafGuard guard(shard.lock); guard) bytes += shard.blocks.mapped_bytes();
  }
  return bytes;
}

void BlockTable::restart() noexcept {
  for (auto& shard : std::span(shards_.get(), kShards)) {
    const LeafGuard guard(shard.lock);
    if (!guard) continue;
    shard.blocks.shrink();
    for (auto& block : shard.blocks.slots()) {
      if (block.address == 0 || is_of_set_up(block)) continue;  // to write to an empty slot would take its page
      block.birth_step = 0;
      set_up_blocks_.fetch_add(1, std::memory_order_relaxed);
    }
  }
}

void BlockTable::for_each(const std::function<void(const Block&)>& visit) const {
  std::vector<Block> copied;
  for (auto& shard : std::span(shards_.get(), kShards)) {
    copied.clear();
    // Room is made before the lock is taken; blocks that other threads add meanwhile may be missed.
    copied.reserve(shard.blocks.size());
    if (const LeafGuard guard(shard.lock); guard) {
      for (const auto& block : shard.blocks.slots()) {
        if (block.address != 0 && copied.size() < copied.capacity()) copied.push_back(block);
      }
    }
    for (const auto& block : copied) visit(block);
  }
}

CohortTable BlockTable::cohorts(Device device, std::int64_t at_step) const {
  std::map<std::int64_t, Cohort> cohorts;
  for_each([&](const Block& block) {
    auto& cohort = cohorts[block.birth_step];
    cohort.birth_step = block.birth_step;
    cohort.bytes += block.bytes;
    ++cohort.blocks;
  });
  CohortTable table{device, at_step, {}};
  for (const auto& [step, cohort] : cohorts) table.cohorts.push_back(cohort);
  return table;
}

}  // namespace stepleak
