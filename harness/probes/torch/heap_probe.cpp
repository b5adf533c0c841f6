// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/torch/heap_probe.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>

#include "harness/probes/allocation_hooks.hpp"
#include "harness/probes/allocation_sites.hpp"
#include "harness/probes/block_table.hpp"
#include "harness/probes/fork_guard.hpp"
#include "harness/probes/loaded_library.hpp"
#include "harness/probes/step_clock.hpp"
#include "harness/probes/torch/block_stacks.hpp"
#include "harness/probes/torch/left_blocks.hpp"
#include "harness/probes/torch/stack_recorder.hpp"

namespace stepleak {
namespace {

struct HeapRecord {
  BlockTable blocks;
  AllocationSites sites;
  BlockStacks stacks;
  std::atomic<bool> is_in_step{false};
};

// A forked child has none, as with the CPU allocator's. Never destroyed while it may be used: a hook may be under way
// on another thread.
std::atomic<HeapRecord*> heap_record_here{nullptr};

void forget_heap_record_in_child() { heap_record_here.store(nullptr, std::memory_order_relaxed); }

// A table of blocks has a birth step for each; here it tells the site, too, and the place in the step.
constexpr unsigned kSiteBits = std::countr_zero(AllocationSites::kMost);
constexpr unsigned kOrdinalBits = std::countr_zero(AllocationSites::kMostOrdinals);

struct Birth {
  std::int64_t step = 0;
  AllocationSites::Visit visit;
};

std::int64_t packed(const Birth& birth) noexcept {
  return static_cast<std::int64_t>(
      (static_cast<std::uint64_t>(birth.step) << kOrdinalBits | birth.visit.ordinal) << kSiteBits | birth.visit.site);
}

Birth birth_of(const Block& block) noexcept {
  const auto bits = static_cast<std::uint64_t>(block.birth_step);
  return {static_cast<std::int64_t>(bits >> (kSiteBits + kOrdinalBits)),
          {bits & (AllocationSites::kMost - 1),
           static_cast<std::uint32_t>(bits >> kSiteBits & (AllocationSites::kMostOrdinals - 1))}};
}

void on_made(void* block, std::size_t bytes, const void* caller) noexcept try {
  auto* to = heap_record_here.load(std::memory_order_acquire);
  if (to == nullptr) return;
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  if (!to->is_in_step.load(std::memory_order_relaxed)) {
    to->blocks.erase(address);  // the free of what was here before was not seen
    return;
  }
  const auto step = current_step.load(std::memory_order_relaxed);
  const auto visit = to->sites.visit(caller, bytes);
  to->blocks.insert({address, static_cast<std::int64_t>(bytes), packed({step, visit})});
  if (to->sites.is_stack_wanted(visit, step)) to->stacks.add(address, capture_stack_in_malloc());
} catch (const std::exception&) {
  // Without memory for a stack the block has none.
}

void on_freed(void* block) noexcept {
  auto* to = heap_record_here.load(std::memory_order_acquire);
  if (to == nullptr) return;
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  if (to->blocks.erase(address)) (void)to->stacks.remove(address);
}

constexpr AllocationListener kListener{.on_made = &on_made, .on_freed = &on_freed};

// Sites of which several steps left something.
void suspect_sites(HeapRecord& of) {
  struct Steps {
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = 0;
  };
  std::vector<Steps> steps(AllocationSites::kMost);
  const auto for_each_birth = [&](const auto& visit) {
    of.blocks.for_each([&](const Block& block) {
      const auto birth = birth_of(block);
      if (birth.step > 0) visit(birth);  // else of an earlier pass
    });
  };
  for_each_birth([&](const Birth& birth) {
    auto& [first, last] = steps[birth.visit.site];
    first = std::min(first, birth.step);
    last = std::max(last, birth.step);
  });
  for_each_birth([&](const Birth& birth) {
    const auto& [first, last] = steps[birth.visit.site];
    if (first < last) of.sites.suspect(birth.visit);
  });
}

// What glibc takes for a block: a word before it, in units of two words, four words at least.
std::int64_t chunk_bytes(std::int64_t bytes) {
  constexpr auto kWord = static_cast<std::int64_t>(sizeof(void*));
  return std::max(4 * kWord, (bytes + kWord + 2 * kWord - 1) / (2 * kWord) * (2 * kWord));
}

}  // namespace

HeapProbe::HeapProbe(std::shared_ptr<StackTable> stacks) : stacks_(std::move(stacks)) {
  [[maybe_unused]] static const bool is_registered =
      (at_fork({.before = nullptr, .in_parent = nullptr, .in_child = &forget_heap_record_in_child}), true);
}

HeapProbe::~HeapProbe() { stop(); }

void HeapProbe::stop() noexcept {
  if (std::exchange(is_hooked_, false)) unhook_allocations();
  if (auto* record = heap_record_here.load()) record->is_in_step = false;
}

void HeapProbe::begin_record(const Pass& pass) {
  if (!pass.records_heap) return;
  if (heap_record_here.load() == nullptr) heap_record_here = new HeapRecord;
  auto& record = *heap_record_here.load();
  record.blocks.restart();
  record.sites.restart();
  (void)record.stacks.take();
  start_observing_here();
  (void)capture_stack_in_malloc();  // the first of a process loads the unwinder
  hook_allocations(kListener);
  is_hooked_ = true;
}

void HeapProbe::begin_step(std::int64_t /*step*/) {
  // A child that was forked in a step has no record.
  if (!is_hooked_ || heap_record_here.load() == nullptr) return;
  hook_allocations(kListener);  // what the last step has loaded, too
  auto& record = *heap_record_here.load();
  suspect_sites(record);
  record.sites.begin_step();
  record.is_in_step = is_recording_;
}

void HeapProbe::read(Moment /*moment*/, std::span<std::int64_t> /*row*/) {
  if (auto* record = heap_record_here.load()) record->is_in_step = false;
}

void HeapProbe::record_stacks(bool is_recording) { is_recording_ = is_recording; }

void HeapProbe::end_record(Recording& recording) {
  if (!is_hooked_ || heap_record_here.load() == nullptr) return;
  stop();
  std::unordered_set<std::uint64_t> tensors;
  for (const auto& survivor : recording.survivors) {
    if (survivor.type == SurvivorType::block && survivor.device == kHost) tensors.insert(survivor.identity);
  }
  auto& record = *heap_record_here.load();
  suspect_sites(record);
  const auto captures = record.stacks.take();
  std::vector<LeftBlock> left;
  record.blocks.for_each([&](const Block& block) {
    const auto [step, visit] = birth_of(block);
    if (!record.sites.is_suspect(visit.site) || !recording.is_recorded(step) || tensors.contains(block.address)) return;
    left.push_back({block, visit.site, step});
  });
  add_stacks(
      captures, [this](const StackCapture& capture) { return stacks_->index_of(capture); }, left);
  std::map<std::size_t, std::string> libraries;
  std::map<std::tuple<std::int64_t, int, std::string>, Survivor> groups;
  for (const auto& [block, site, step, stack] : left) {
    const auto [library, is_new_site] = libraries.try_emplace(site);
    if (is_new_site) library->second = library_of(record.sites.caller_of(site));
    auto& group = groups[{step, stack, library->second}];
    group.library = library->second;
    group.type = SurvivorType::heap;
    group.birth_step = step;
    group.identity = block.address;
    group.stack = stack;
    group.bytes += chunk_bytes(block.bytes);
    group.storage_bytes = group.bytes;
  }
  for (auto& [key, group] : groups) recording.survivors.push_back(std::move(group));
}

}  // namespace stepleak
