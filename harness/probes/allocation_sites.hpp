// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stepleak {

/// Where native allocations come from, as far as can be known at each of them: the caller of malloc and the size. A
/// stack costs a hundred times as much, so only those sites of which something stays are worth one; and since a step
/// repeats, above all those allocations that come where in the last steps one came that stayed. Of each step a thousand
/// stacks at most are worth their time.
///
/// visit() and is_stack_wanted() may be called from any thread at once; they take no lock and allocate nothing. The
/// rest is called between two steps.
class AllocationSites {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 15;
  static constexpr std::uint32_t kMostOrdinals = std::uint32_t{1} << 24;

  /// One allocation: the `ordinal`-th of its site in this step. Site 0 stands for all that came when the table was
  /// full.
  struct Visit {
    std::size_t site = 0;
    std::uint32_t ordinal = 0;
  };
  [[nodiscard]] Visit visit(const void* caller, std::size_t bytes) noexcept;

  /// Whether the stack of an allocation that is made now is to be captured.
  [[nodiscard]] bool is_stack_wanted(const Visit& visit, std::int64_t step) noexcept;

  /// Forgets all sites.
  void restart() noexcept;
  /// Before each step.
  void begin_step() noexcept;
  /// An allocation of an earlier step that is alive, of a site of which several steps left some.
  void suspect(const Visit& visit) noexcept;
  /// Null where allocations of more than one caller are of that site.
  [[nodiscard]] const void* caller_of(std::size_t site) const noexcept {
    return sites_.at(site).caller.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_suspect(std::size_t site) const noexcept {
    return sites_.at(site).is_suspect.load(std::memory_order_relaxed);
  }

 private:
  struct Site {
    std::atomic<std::uint64_t> key{0};
    std::atomic<const void*> caller{nullptr};
    std::atomic<std::uint32_t> count{0};                // in this step
    std::atomic<std::uint32_t> stride{1};               // of those whose stacks are captured wherever they come
    std::atomic<std::uint32_t> latest{0};               // of the hints
    std::array<std::atomic<std::uint32_t>, 8> hints{};  // ordinals that stayed, plus one
    std::atomic<bool> is_suspect{false};
  };
  std::array<Site, kMost> sites_;
  // In this step: a stack of Python's frames takes up to 50 us.
  std::atomic<int> expected_left_{0};
  std::atomic<int> others_left_{0};
};

}  // namespace stepleak
