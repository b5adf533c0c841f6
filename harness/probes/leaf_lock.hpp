// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace stepleak {

/// A lock for a few nanoseconds inside the callbacks of others, where an allocator's own lock may be held: a leaf,
/// under which nothing else is locked or called, and nothing is allocated (but the mapping of a table that grows).
///
/// lock() spins and is false where nobody will ever unlock: another thread held it when this process was forked, and
/// what it guards may be half written. Any thread may use it, in no signal handler. Not recursive.
class LeafLock {
 public:
  [[nodiscard]] bool lock() noexcept {
    const auto mine = generation_.load(std::memory_order_relaxed);
    std::uint32_t holder = kFree;
    return holder_.compare_exchange_strong(holder, mine, std::memory_order_acquire, std::memory_order_relaxed) ||
           wait(mine);
  }
  void unlock() noexcept { holder_.store(kFree, std::memory_order_release); }

 private:
  static constexpr std::uint32_t kFree = 0;

  static int count_forks() noexcept;
  bool wait(std::uint32_t mine) noexcept;

  /// Counts the forks that led to this process: a lock that is held says in which of them.
  static std::atomic<std::uint32_t> generation_;
  static const int is_counting_;
  std::atomic<std::uint32_t> holder_{kFree};
};

/// Holds a LeafLock for a scope; false where it could not be had.
class LeafGuard {
 public:
  explicit LeafGuard(LeafLock& lock) noexcept : lock_(lock), is_held_(lock.lock()) {}
  LeafGuard(const LeafGuard&) = delete;
  LeafGuard& operator=(const LeafGuard&) = delete;
  ~LeafGuard() {
    if (is_held_) lock_.unlock();
  }
  [[nodiscard]] explicit operator bool() const noexcept { return is_held_; }

 private:
  LeafLock& lock_;
  bool is_held_;
};

}  // namespace stepleak
