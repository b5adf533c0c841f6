// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/probes/step_clock.hpp"
#include "harness/probes/torch/stack_recorder.hpp"

namespace stepleak {

/// Where a block was allocated, and in which step: an address may be another block's by now.
struct BlockStack {
  std::int64_t step = 0;
  StackCapture capture;
};

/// Stacks of blocks by address; filled in recorded steps only. In the record pass those of freed blocks are removed at
/// once, in the screen pass, whose frees shall cost nothing, after the step. Thread-safe, by a leaf lock: no stack is
/// captured or destroyed under it.
class BlockStacks {
 public:
  using Table = std::unordered_map<std::uintptr_t, BlockStack>;

  void add(std::uintptr_t address, StackCapture capture = capture_operator_stack()) {
    BlockStack stack{current_step.load(std::memory_order_relaxed), std::move(capture)};
    const std::scoped_lock lock(mutex_);
    std::swap(captures_[address], stack);  // what was there is destroyed without the lock
  }
  // The stack of a freed block; destroyed by the caller, without the lock.
  [[nodiscard]] StackCapture remove(std::uintptr_t address) {
    const std::scoped_lock lock(mutex_);
    const auto found = captures_.find(address);
    if (found == captures_.end()) return nullptr;
    auto removed = std::move(found->second.capture);
    captures_.erase(found);
    return removed;
  }
  void add_collected(StackCapture capture) {
    const std::scoped_lock lock(mutex_);
    // One step's garbage shows the place; more of the same would only cost.
    if (collected_.size() < kMostCollected) collected_.push_back(std::move(capture));
  }
  [[nodiscard]] std::vector<StackCapture> take_collected() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(collected_, {});
  }
  [[nodiscard]] Table take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(captures_, {});
  }
  void put_back(Table captures) {
    const std::scoped_lock lock(mutex_);
    std::swap(captures_, captures);  // as above
  }

 private:
  static constexpr std::size_t kMostCollected = 256;
  std::mutex mutex_;
  Table captures_;
  std::vector<StackCapture> collected_;
};

}  // namespace stepleak
