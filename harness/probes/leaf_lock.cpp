// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/leaf_lock.hpp"

#include <pthread.h>
#include <sched.h>

namespace stepleak {

std::atomic<std::uint32_t> LeafLock::generation_{1};
const int LeafLock::is_counting_ = LeafLock::count_forks();

int LeafLock::count_forks() noexcept {
  return ::pthread_atfork(nullptr, nullptr, [] { generation_.fetch_add(1, std::memory_order_relaxed); });
}

bool LeafLock::wait(std::uint32_t mine) noexcept {
  // Its holder was preempted, or is growing a table, once that has been spun so often: somebody else needs the core.
  constexpr int kSpins = 64;
  for (int spin = 0;; ++spin) {
    auto holder = holder_.load(std::memory_order_relaxed);
    if (holder == kFree && holder_.compare_exchange_weak(holder, mine, std::memory_order_acquire)) return true;
    if (holder != kFree && holder != mine) return false;
    if (spin >= kSpins) ::sched_yield();
  }
}

}  // namespace stepleak
