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
  std::optional<std::int64_t> replaced_bytes;
  if (const LeafGuard guard(shard.lock); guard) replaced_bytes = shard.blocks.insert(block);
  if (!replaced_bytes) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const auto more = block.bytes - *replaced_bytes;
  const auto live = live_bytes_.fetch_add(more, std::memory_order_relaxed) + more;
  auto peak = peak_bytes_.load(std::memory_order_relaxed);
  while (live > peak && !peak_bytes_.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
}

bool BlockTable::erase(std::uintptr_t address) noexcept {
  auto& shard = shard_of(address);
  std::optional<std::int64_t> bytes;
  if (const LeafGuard guard(shard.lock); guard) bytes = shard.blocks.erase(address);
  if (bytes) live_bytes_.fetch_sub(*bytes, std::memory_order_relaxed);
  return bytes.has_value();
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
      if (block.address != 0) block.birth_step = 0;  // to write to an empty slot would take its page
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
