// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/block_shard.hpp"

#include <algorithm>
#include <bit>

#include "harness/base/mapped_memory.hpp"

namespace stepleak {
namespace {

constexpr std::uintptr_t kEmpty = 0;  // no allocation has this address

}  // namespace

BlockShard::~BlockShard() {
  if (slots_ != nullptr) unmap_memory(slots_, mapped_bytes());
}

bool BlockShard::start(std::size_t capacity) noexcept {
  // With fewer slots than this, the last empty one, at which a search ends, would be used up too soon.
  constexpr std::size_t kFewestSlots = 16;
  initial_capacity_ = std::max(std::bit_ceil(capacity), kFewestSlots);
  return resize(initial_capacity_);
}

// The mapping is zeroed, so every slot is empty; pages that are never touched cost no memory.
bool BlockShard::resize(std::size_t capacity) noexcept {
  void* memory = try_to_map_memory(capacity * sizeof(Block));
  if (memory == nullptr) return false;
  const auto old = slots();
  slots_ = static_cast<Block*>(memory);
  capacity_ = capacity;
  shift_ = 64 - std::countr_zero(capacity);
  for (const auto& block : old) {
    if (block.address != kEmpty) slots_[slot_of(block.address)] = block;
  }
  if (!old.empty()) unmap_memory(old.data(), old.size_bytes());
  return true;
}

// Where an address is, or would go.
std::size_t BlockShard::slot_of(std::uintptr_t address) const noexcept {
  auto slot = home_of(address);
  while (slots_[slot].address != address && slots_[slot].address != kEmpty) slot = (slot + 1) & (capacity_ - 1);
  return slot;
}

std::optional<Block> BlockShard::insert(const Block& block) noexcept {
  // At half load an unsuccessful search looks at 2.5 slots on average (Knuth, TAOCP 3, 6.4). Without memory the table
  // fills up, but for the one empty slot at which searches end.
  const bool is_half_full = (size() + 1) * 2 > capacity_;
  if (is_half_full && !resize(capacity_ * 2) && size() + 1 >= capacity_) return std::nullopt;
  auto& slot = slots_[slot_of(block.address)];
  const auto replaced = slot;
  slot = block;
  if (replaced.address == kEmpty) set_size(size() + 1);
  return replaced;
}

std::optional<Block> BlockShard::erase(std::uintptr_t address) noexcept {
  auto hole = slot_of(address);
  if (slots_[hole].address == kEmpty) return std::nullopt;
  const auto erased = slots_[hole];
  const auto mask = capacity_ - 1;
  for (auto slot = (hole + 1) & mask; slots_[slot].address != kEmpty; slot = (slot + 1) & mask) {
    // A block may move back to the hole, unless that lies before its home.
    if (((slot - home_of(slots_[slot].address)) & mask) < ((slot - hole) & mask)) continue;
    slots_[hole] = slots_[slot];
    hole = slot;
  }
  slots_[hole] = {};
  set_size(size() - 1);
  return erased;
}

void BlockShard::shrink() noexcept {
  // A quarter full: the next blocks fit, too.
  const auto needed = std::max(std::bit_ceil(size() * 4), initial_capacity_);
  if (needed < capacity_) resize(needed);
}

}  // namespace stepleak
