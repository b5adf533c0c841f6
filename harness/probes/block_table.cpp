// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/block_table.hpp"

#include <sys/mman.h>

#include <map>
#include <new>

#include "harness/base/errors.hpp"

namespace stepleak {
namespace {

// Keys that are no address: allocations are aligned to 16 bytes at least.
constexpr std::uintptr_t kEmpty = 0;
constexpr std::uintptr_t kErased = 1;
constexpr std::uintptr_t kBusy = 2;

std::size_t hash_of(std::uintptr_t address) {
  // Fibonacci hashing; tensor allocations are 64-byte aligned, so the low bits say nothing.
  return static_cast<std::size_t>((address >> 6) * 0x9E3779B97F4A7C15ULL >> 16);
}

}  // namespace

Survivor survivor_of(const Block& block, Device device, int stack) {
  return {.device = device,
          .birth_step = block.birth_step,
          .identity = block.address,
          .storage = block.address,
          .bytes = block.bytes,
          .storage_bytes = block.bytes,
          .stack = stack};
}

struct BlockTable::Slot {
  std::atomic<std::uintptr_t> key;
  std::int64_t bytes;
  std::int64_t birth_step;
};

// Header and slots share one mapping; pages that are never touched cost no memory.
struct BlockTable::Segment {
  std::size_t capacity;
  std::size_t mapped_bytes;
  std::atomic<std::size_t> used;  // slots that ever held a block; erased ones are used again
  std::atomic<Segment*> next;

  [[nodiscard]] Slot* slots() { return reinterpret_cast<Slot*>(this + 1); }
};

BlockTable::Segment* BlockTable::make_segment(std::size_t capacity) noexcept {
  const std::size_t bytes = sizeof(Segment) + capacity * sizeof(Slot);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* segment = new (memory) Segment;  // the mapping is zeroed: every slot is empty
  segment->capacity = capacity;
  segment->mapped_bytes = bytes;
  return segment;
}

BlockTable::BlockTable(std::size_t capacity) : first_(make_segment(capacity)), newest_(first_) {
  STEPLEAK_EXPECTS((capacity & (capacity - 1)) == 0);
  if (first_ == nullptr) throw failure_error("no memory for the table of live allocations", "raise the memory limit");
}

BlockTable::~BlockTable() {
  for (Segment* segment = first_; segment != nullptr;) {
    Segment* next = segment->next.load();
    ::munmap(segment, segment->mapped_bytes);
    segment = next;
  }
}

bool BlockTable::insert_into(Segment& segment, const Block& block) noexcept {
  const std::size_t mask = segment.capacity - 1;
  // Longer probes than this mean that the segment is too full to be quick.
  constexpr std::size_t kLongestProbe = 64;
  for (std::size_t probe = 0, i = hash_of(block.address); probe < kLongestProbe; ++probe, ++i) {
    Slot& slot = segment.slots()[i & mask];
    auto key = slot.key.load(std::memory_order_relaxed);
    if (key != kEmpty && key != kErased) continue;
    if (!slot.key.compare_exchange_strong(key, kBusy, std::memory_order_acquire)) continue;
    slot.bytes = block.bytes;
    slot.birth_step = block.birth_step;
    slot.key.store(block.address, std::memory_order_release);
    if (key == kEmpty) segment.used.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  return false;
}

BlockTable::Segment* BlockTable::successor_of(Segment& segment) noexcept {
  Segment* next = segment.next.load(std::memory_order_acquire);
  if (next != nullptr) return next;
  Segment* made = make_segment(segment.capacity * 4);
  if (made == nullptr) return nullptr;
  if (segment.next.compare_exchange_strong(next, made, std::memory_order_acq_rel)) return made;
  ::munmap(made, made->mapped_bytes);  // another thread was quicker
  return next;
}

void BlockTable::insert(const Block& block) noexcept {
  Segment* segment = newest_.load(std::memory_order_acquire);
  // At half load an unsuccessful probe looks at 2.5 slots on average (Knuth, TAOCP 3, 6.4).
  while (segment->used.load(std::memory_order_relaxed) > segment->capacity / 2 || !insert_into(*segment, block)) {
    segment = successor_of(*segment);
    if (segment == nullptr) {
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    newest_.store(segment, std::memory_order_release);
  }
  live_blocks_.fetch_add(1, std::memory_order_relaxed);
  const auto live = live_bytes_.fetch_add(block.bytes, std::memory_order_relaxed) + block.bytes;
  auto peak = peak_bytes_.load(std::memory_order_relaxed);
  while (live > peak && !peak_bytes_.compare_exchange_weak(peak, live, std::memory_order_relaxed)) {
  }
}

bool BlockTable::erase(std::uintptr_t address) noexcept {
  for (Segment* segment = first_; segment != nullptr; segment = segment->next.load(std::memory_order_acquire)) {
    const std::size_t mask = segment->capacity - 1;
    for (std::size_t i = hash_of(address), probe = 0; probe < segment->capacity; ++i, ++probe) {
      Slot& slot = segment->slots()[i & mask];
      const auto key = slot.key.load(std::memory_order_acquire);
      if (key == kEmpty) break;
      if (key != address) continue;
      const auto bytes = slot.bytes;
      slot.key.store(kErased, std::memory_order_release);
      live_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
      live_blocks_.fetch_sub(1, std::memory_order_relaxed);
      return true;
    }
  }
  return false;
}

template <typename Visit>
void BlockTable::visit_slots(const Visit& visit) const {
  for (Segment* segment = first_; segment != nullptr; segment = segment->next.load(std::memory_order_acquire)) {
    for (std::size_t i = 0; i < segment->capacity; ++i) {
      Slot& slot = segment->slots()[i];
      const auto key = slot.key.load(std::memory_order_acquire);
      if (key > kBusy) visit(key, slot);
    }
  }
}

void BlockTable::restart() noexcept {
  visit_slots([](std::uintptr_t, Slot& slot) { slot.birth_step = 0; });
}

void BlockTable::for_each(const std::function<void(const Block&)>& visit) const {
  visit_slots([&](std::uintptr_t key, const Slot& slot) { visit({key, slot.bytes, slot.birth_step}); });
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
