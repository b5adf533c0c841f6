// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace stepleak {

/// One live allocation.
struct Block {
  std::uintptr_t address = 0;
  std::int64_t bytes = 0;
  std::int64_t birth_step = 0;
};

/// Spreads addresses over all 64 bits, the highest best (Fibonacci hashing).
[[nodiscard]] inline std::uint64_t hash_of(std::uintptr_t address) noexcept {
  // Tensor allocations are 64-byte aligned: the low bits say nothing.
  return (address >> 6) * 0x9E3779B97F4A7C15ULL;
}

/// Blocks by address: one part of a BlockTable, which picks it by the highest kBits of the hash.
///
/// Open addressing with linear probing in a mapping of its own, at most half full. An erased slot is filled again at
/// once from behind (Knuth, TAOCP 3, 6.4, algorithm R), so that memory follows what is alive and not what ever was:
/// at most four slots a live block, and the initial capacity. Not thread-safe, but for size().
class BlockShard {
 public:
  static constexpr int kBits = 4;

  BlockShard() = default;
  BlockShard(const BlockShard&) = delete;
  BlockShard& operator=(const BlockShard&) = delete;
  ~BlockShard();

  /// Once, before all else: makes room for `capacity` / 2 blocks, a power of two. False where there is no memory.
  [[nodiscard]] bool start(std::size_t capacity) noexcept;

  /// A block at the address of another replaces it: that one's free was missed. The block that it replaced, or an empty
  /// one; nothing where there is no memory to grow.
  std::optional<Block> insert(const Block& block) noexcept;
  /// The block; nothing where the address is unknown.
  std::optional<Block> erase(std::uintptr_t address) noexcept;
  /// Gives memory back that the blocks of today do not need.
  void shrink() noexcept;

  [[nodiscard]] std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t mapped_bytes() const noexcept { return capacity_ * sizeof(Block); }
  /// All slots; in an empty one the address is 0.
  [[nodiscard]] std::span<Block> slots() noexcept { return {slots_, capacity_}; }

 private:
  [[nodiscard]] std::size_t home_of(std::uintptr_t address) const noexcept {
    return static_cast<std::size_t>(hash_of(address) << kBits >> shift_);
  }
  [[nodiscard]] std::size_t slot_of(std::uintptr_t address) const noexcept;
  void set_size(std::size_t size) noexcept { size_.store(size, std::memory_order_relaxed); }
  bool resize(std::size_t capacity) noexcept;

  Block* slots_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t initial_capacity_ = 0;
  int shift_ = 0;  // 64 - log2(capacity_)
  std::atomic<std::size_t> size_{0};
};

}  // namespace stepleak
