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

// Where a block was allocated, and in which step: an address may be another block's by now.
struct BlockStack {
  std::int64_t step = 0;
  StackCapture capture;
};

// Stacks of blocks by address; filled in recorded steps only. In the explain pass those of freed blocks are removed at
// once, in the screen pass, whose frees shall cost nothing, after the step.
class BlockStacks {
 public:
  using Table = std::unordered_map<std::uintptr_t, BlockStack>;

  void add(std::uintptr_t address) {
    BlockStack stack{current_step.load(std::memory_order_relaxed), capture_operator_stack()};
    // outside the lock: capturing may take the GIL
    const std::scoped_lock lock(mutex_);
    captures_[address] = std::move(stack);
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
    captures_ = std::move(captures);
  }

 private:
  static constexpr std::size_t kMostCollected = 256;
  std::mutex mutex_;
  Table captures_;
  std::vector<StackCapture> collected_;
};

// What the permanent wrapper records into. Never destroyed: tensors may be freed after main().
struct Record {
  BlockTable blocks;
  BlockStacks stacks;
  std::atomic<bool> is_recording{false};
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
      if (to.is_recording.load(std::memory_order_relaxed)) to.stacks.add(address);
    }
    return data;
  }
  [[nodiscard]] c10::DeleterFnPtr raw_deleter() const override { return &delete_block; }
  void copy_data(void* target, const void* source, std::size_t bytes) const override {
    record().wrapped->copy_data(target, source, bytes);
  }
};

// Takes the stacks, and leaves out those of blocks that are gone.
BlockStacks::Table stacks_of_live_blocks() {
  auto captures = record().stacks.take();
  BlockStacks::Table live;
  record().blocks.for_each([&](const Block& block) {
    const auto found = captures.find(block.address);
    if (found != captures.end() && found->second.step == block.birth_step) live.insert(captures.extract(found));
  });
  return live;
}

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

void CpuAllocatorProbe::start() {
  // An earlier run may have failed in the middle of its explain pass.
  record().is_explaining = false;
  (void)record().stacks.take();
  (void)record().stacks.take_collected();
  record().blocks.restart();
}

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

void CpuAllocatorProbe::record_stacks(bool is_recording) {
  record().is_recording = is_recording;
  if (is_recording || record().is_explaining) return;
  try {
    record().stacks.put_back(stacks_of_live_blocks());
  } catch (const std::bad_alloc&) {
    // After a step that ran out of memory: the stacks of dead blocks are not worth its evidence.
  }
}

void CpuAllocatorProbe::begin_explain() {
  (void)record().stacks.take();
  record().is_explaining = true;
}

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
  add_blocks(trace, [&trace](const Block& block) { return trace.is_recorded(block.birth_step); });
}

void CpuAllocatorProbe::read_blocks(Trace& trace) {
  add_blocks(trace, [](const Block&) { return true; });
}

void CpuAllocatorProbe::add_blocks(Trace& trace, const std::function<bool(const Block&)>& is_wanted) {
  const auto captures = stacks_of_live_blocks();
  record().blocks.for_each([&](const Block& block) {
    if (!is_wanted(block)) return;
    const auto found = captures.find(block.address);
    const auto stack = found == captures.end() ? -1 : stacks_->index_of(found->second.capture);
    trace.survivors.push_back(survivor_of(block, kHost, stack));
  });
}

}  // namespace stepleak
