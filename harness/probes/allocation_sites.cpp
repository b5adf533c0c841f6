// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/allocation_sites.hpp"

#include <algorithm>
#include <bit>

namespace stepleak {
namespace {

// Of a site in a step, beside those that are expected to stay.
constexpr std::uint32_t kStacksAStep = 64;
// Of all sites together.
constexpr int kExpectedStacks = 768;
constexpr int kOtherStacks = 256;
// What a step allocates before may vary by a few.
constexpr std::uint32_t kNear = 4;

// Large blocks of one caller are of one site whatever their exact sizes: they vary with the data.
std::uint64_t key_of(const void* caller, std::size_t bytes) noexcept {
  constexpr std::size_t kExact = 1024;
  const auto size = bytes <= kExact ? bytes : kExact + static_cast<std::size_t>(std::bit_width(bytes));
  return (reinterpret_cast<std::uintptr_t>(caller) << 12U ^ size) | std::uint64_t{1} << 63U;
}

}  // namespace

AllocationSites::Visit AllocationSites::visit(const void* caller, std::size_t bytes) noexcept {
  constexpr std::size_t kMostTries = 16;
  const auto key = key_of(caller, bytes);
  const auto home = static_cast<std::size_t>(key * 0x9E3779B97F4A7C15ULL >> 49U);
  for (std::size_t i = 0; i < kMostTries; ++i) {
    const auto index = (home + i) % kMost;
    if (index == 0) continue;
    auto& site = sites_[index];
    std::uint64_t found = 0;
    if (site.key.load(std::memory_order_relaxed) == key ||
        site.key.compare_exchange_strong(found, key, std::memory_order_relaxed) || found == key) {
      site.caller.store(caller, std::memory_order_relaxed);
      return {index, std::min(site.count.fetch_add(1, std::memory_order_relaxed), kMostOrdinals - 1)};
    }
  }
  return {};
}

bool AllocationSites::is_stack_wanted(const Visit& visit, std::int64_t step) noexcept {
  const auto& site = sites_.at(visit.site);
  if (!site.is_suspect.load(std::memory_order_relaxed)) return false;
  const auto stride = site.stride.load(std::memory_order_relaxed);
  const auto takes = [](std::atomic<int>& left) { return left.fetch_sub(1, std::memory_order_relaxed) > 0; };
  const bool is_expected = std::any_of(site.hints.begin(), site.hints.end(), [&](const auto& hint) {
    const auto expected = hint.load(std::memory_order_relaxed);
    return expected > 0 && visit.ordinal + 1 + kNear >= expected && visit.ordinal + 1 <= expected + kNear;
  });
  if (is_expected) return takes(expected_left_);
  return visit.ordinal % stride == static_cast<std::uint64_t>(step) % stride && takes(others_left_);
}

void AllocationSites::restart() noexcept {
  for (auto& site : sites_) {
    site.key.store(0, std::memory_order_relaxed);
    site.caller.store(nullptr, std::memory_order_relaxed);
    site.count.store(0, std::memory_order_relaxed);
    site.stride.store(1, std::memory_order_relaxed);
    site.latest.store(0, std::memory_order_relaxed);
    for (auto& hint : site.hints) hint.store(0, std::memory_order_relaxed);
    site.is_suspect.store(false, std::memory_order_relaxed);
  }
}

void AllocationSites::begin_step() noexcept {
  expected_left_.store(kExpectedStacks, std::memory_order_relaxed);
  others_left_.store(kOtherStacks, std::memory_order_relaxed);
  for (auto& site : sites_) {
    const auto count = site.count.exchange(0, std::memory_order_relaxed);
    if (count > 0) site.stride.store(std::max(1U, count / kStacksAStep), std::memory_order_relaxed);
  }
}

void AllocationSites::suspect(const Visit& visit) noexcept {
  auto& site = sites_.at(visit.site);
  site.is_suspect.store(true, std::memory_order_relaxed);
  const auto hint = visit.ordinal + 1;
  for (const auto& known : site.hints) {
    if (known.load(std::memory_order_relaxed) == hint) return;
  }
  const auto slot = site.latest.fetch_add(1, std::memory_order_relaxed) % site.hints.size();
  site.hints[slot].store(hint, std::memory_order_relaxed);
}

}  // namespace stepleak
