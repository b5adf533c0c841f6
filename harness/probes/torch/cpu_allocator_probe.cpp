// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/torch/cpu_allocator_probe.hpp"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/base/errors.hpp"
#include "harness/probes/block_table.hpp"
#include "harness/probes/step_clock.hpp"
#include "harness/probes/torch/stack_recorder.hpp"

namespace stepleak {
namespace {

// Stacks of live blocks, by address; filled in the explain pass only.
class BlockStacks {
 public:
  void add(std::uintptr_t address) {
    auto capture = capture_operator_stack();  // outside the lock: it may take the GIL
    const std::scoped_lock lock(mutex_);
    captures_[address] = std::move(capture);
  }
  // The stack of a freed block; destroyed by the caller, without the lock.
  [[nodiscard]] StackCapture remove(std::uintptr_t address) {
    const std::scoped_lock lock(mutex_);
    const auto found = captures_.find(address);
    if (found == captures_.end()) return nullptr;
    auto removed = std::move(found->second);
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
  [[nodiscard]] std::unordered_map<std::uintptr_t, StackCapture> take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(captures_, {});
  }

 private:
  static constexpr std::size_t kMostCollected = 256;
  std::mutex mutex_;
  std::unordered_map<std::uintptr_t, StackCapture> captures_;
  std::vector<StackCapture> collected_;
};

// What the permanent wrapper records into. Never destroyed: tensors may be freed after main().
struct Record {
  BlockTable blocks;
  BlockStacks stacks;
  std::atomic<bool> is_explaining{false};
  std::atomic<bool> is_collecting{false};  // between the two readings of a boundary
  c10::Allocator* wrapped = nullptr;
  c10::DeleterFnPtr wrapped_deleter = nullptr;
};

Record& record() {
  static auto* instance = new Record;
  return *instance;
}

void delete_block(void* memory) {
  auto& to = record();
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  // Before the memory is given back: afterwards the address may be handed out again.
  if (to.blocks.erase(address) && to.is_explaining.load(std::memory_order_relaxed)) {
    auto capture = to.stacks.remove(address);
    if (capture && to.is_collecting.load(std::memory_order_relaxed)) to.stacks.add_collected(std::move(capture));
  }
  to.wrapped_deleter(memory);
}

// Keeps the contract of c10::Allocator: data and context are the same pointer, the deleter is always one
// function, nothing stands in front of the data (raw_allocate, COW and is_simple_data_ptr rest on it).
class RecordingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    auto& to = record();
    auto data = to.wrapped->allocate(bytes);
    if (data.get() != nullptr && data.compare_exchange_deleter(to.wrapped_deleter, &delete_block)) {
      const auto address = reinterpret_cast<std::uintptr_t>(data.get());
      to.blocks.insert({address, static_cast<std::int64_t>(bytes), current_step.load(std::memory_order_relaxed)});
      if (to.is_explaining.load(std::memory_order_relaxed)) to.stacks.add(address);
    }
    return data;
  }
  [[nodiscard]] c10::DeleterFnPtr raw_deleter() const override { return &delete_block; }
  void copy_data(void* target, const void* source, std::size_t bytes) const override {
    record().wrapped->copy_data(target, source, bytes);
  }
};

void install_once() {
  static const bool is_installed = [] {
    auto& to = record();
    to.wrapped = c10::GetCPUAllocator();
    to.wrapped_deleter = to.wrapped->raw_deleter();
    if (to.wrapped_deleter == nullptr) {
      throw failure_error("the CPU allocator in use has no raw deleter and cannot be watched",
                          "remove the custom CPU allocator, or run with the default one");
    }
    static auto* allocator = new RecordingAllocator;
    constexpr std::uint8_t kPriority = 200;  // above torch's own allocators, below a debugger's last word
    c10::SetCPUAllocator(allocator, kPriority);
    return true;
  }();
  (void)is_installed;
}

}  // namespace

CpuAllocatorProbe::CpuAllocatorProbe(std::shared_ptr<StackTable> stacks) : stacks_(std::move(stacks)) {
  install_once();
}

std::vector<SeriesKey> CpuAllocatorProbe::keys() const {
  return {{Counter::live_bytes, kHost, Moment::before_collection},
          {Counter::live_bytes},
          {Counter::live_blocks},
          {Counter::peak_bytes}};
}

void CpuAllocatorProbe::start() { record().blocks.restart(); }

void CpuAllocatorProbe::begin_step(std::int64_t /*step*/) { record().blocks.reset_peak(); }

void CpuAllocatorProbe::read(Moment moment, std::span<std::int64_t> row) {
  const auto& blocks = record().blocks;
  record().is_collecting = moment == Moment::before_collection;
  if (moment == Moment::before_collection) {
    row[0] = blocks.live_bytes();
    row[3] = blocks.peak_bytes();
    return;
  }
  row[1] = blocks.live_bytes();
  row[2] = blocks.live_blocks();
}

void CpuAllocatorProbe::read_cohorts(std::vector<CohortTable>& tables) {
  tables.push_back(record().blocks.cohorts(kHost, current_step.load()));
}

void CpuAllocatorProbe::begin_explain() { record().is_explaining = true; }

void CpuAllocatorProbe::end_explain(Trace& trace) {
  auto& from = record();
  from.is_explaining = false;
  for (const auto& capture : from.stacks.take_collected()) {
    Survivor survivor;
    survivor.birth_step = trace.explained_from;
    survivor.is_collected = true;
    survivor.stack = stacks_->index_of(capture);
    trace.survivors.push_back(std::move(survivor));
  }
  const auto captures = from.stacks.take();
  from.blocks.for_each([&](const Block& block) {
    if (block.birth_step < trace.explained_from) return;
    Survivor survivor;
    survivor.birth_step = block.birth_step;
    survivor.identity = survivor.storage = block.address;
    survivor.bytes = survivor.storage_bytes = block.bytes;
    if (const auto found = captures.find(block.address); found != captures.end()) {
      survivor.stack = stacks_->index_of(found->second);
    }
    trace.survivors.push_back(std::move(survivor));
  });
}

}  // namespace stepleak
