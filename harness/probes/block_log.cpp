// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/block_log.hpp"

#include <span>
#include <utility>

namespace stepleak {

void BlockLog::begin() noexcept {
  const LeafGuard guard(lock_);
  if (!guard) return;
  size_ = 0;
  live_bytes_.store(table_.live_bytes(), std::memory_order_relaxed);
  reset_peak();
}

void BlockLog::made(const Block& block) noexcept {
  const LeafGuard guard(lock_);
  if (!guard) return;
  add(block);
  const auto live = live_bytes() + block.bytes;
  live_bytes_.store(live, std::memory_order_relaxed);
  if (live > peak_bytes()) peak_bytes_.store(live, std::memory_order_relaxed);
}

void BlockLog::freed(std::uintptr_t address, std::int64_t bytes) noexcept {
  const LeafGuard guard(lock_);
  if (!guard) return;
  add({address, bytes, kFreed});
  live_bytes_.store(live_bytes() - bytes, std::memory_order_relaxed);
}

bool BlockLog::erase(std::uintptr_t address, std::int64_t bytes) noexcept {
  const LeafGuard guard(lock_);
  if (!guard) return false;
  settle_under_lock();
  if (!table_.erase(address)) return false;
  live_bytes_.store(live_bytes() - bytes, std::memory_order_relaxed);
  return true;
}

void BlockLog::settle() noexcept {
  if (const LeafGuard guard(lock_); guard) settle_under_lock();
}

void BlockLog::add(const Block& entry) noexcept {
  if (size_ == kEntries) settle_under_lock();
  entries_[size_++] = entry;
}

void BlockLog::settle_under_lock() noexcept {
  for (const auto& entry : std::span(entries_).first(std::exchange(size_, 0))) {
    if (entry.birth_step == kFreed) {
      table_.erase(entry.address);
    } else {
      table_.insert(entry);
    }
  }
}

}  // namespace stepleak
