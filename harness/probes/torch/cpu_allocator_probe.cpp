// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/torch/cpu_allocator_probe.hpp"

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "harness/base/errors.hpp"
#include "harness/probes/block_table.hpp"
#include "harness/probes/fork_guard.hpp"
#include "harness/probes/step_clock.hpp"
#include "harness/probes/torch/block_stacks.hpp"
#include "harness/probes/torch/loaded_torch.hpp"
#include "harness/probes/torch/stack_recorder.hpp"
#include "harness/probes/torch/tensor_shell.hpp"

namespace stepleak {
namespace {

// What the permanent wrapper records into. Never destroyed: tensors may be freed after main().
struct Record {
  BlockTable blocks;
  BlockStacks stacks;
  std::atomic<bool> is_recording{false};
  std::atomic<bool> is_explaining{false};
  std::atomic<bool> is_collecting{false};  // between the two readings of a boundary
};

// A forked child has none, until it starts a run of its own: another thread may have held a lock of the parent's at the
// fork, and what it guards may be half written.
std::atomic<Record*> record_here{nullptr};

Record& record() { return *record_here.load(std::memory_order_acquire); }

void forget_record_in_child() { record_here.store(nullptr, std::memory_order_relaxed); }

// What is wrapped, for the life of the process: torch's own allocator, and one that the user registers.
struct Wrapped {
  c10::Allocator* allocator = nullptr;
  c10::DeleterFnPtr deleter = nullptr;
};
Wrapped of_torch;
Wrapped of_user;

// Also while no run observes: the address may be another block's in the next one.
void forget_block(Record& to, std::uintptr_t address) {
  const bool is_explaining = to.is_explaining.load(std::memory_order_relaxed);
  const bool has_stacks = is_explaining || to.is_recording.load(std::memory_order_relaxed);
  if (!to.blocks.erase(address) || !has_stacks) return;
  auto capture = to.stacks.remove(address);
  if (capture && is_explaining && to.is_collecting.load(std::memory_order_relaxed)) {
    to.stacks.add_collected(std::move(capture));
  }
}

template <const Wrapped& wrapped>
void delete_block(void* memory) {
  // Before the memory is given back: afterwards the address may be handed out again.
  auto* to = record_here.load(std::memory_order_acquire);
  if (to != nullptr) forget_block(*to, reinterpret_cast<std::uintptr_t>(memory));
  wrapped.deleter(memory);
}

// From then on the end of this block is seen, too.
template <const Wrapped& wrapped>
bool take_over(c10::DataPtr& data) {
  return data.get() != nullptr && wrapped.deleter != nullptr &&
         data.compare_exchange_deleter(wrapped.deleter, &delete_block<wrapped>);
}

// Whether the end of this block is seen; of an earlier one that may be so for a parent of this process only.
template <const Wrapped& wrapped>
bool is_ours(c10::DataPtr& data) {
  return take_over<wrapped>(data) || data.get_deleter() == &delete_block<wrapped>;
}

// Keeps the contract of c10::Allocator: data and context are the same pointer, the deleter is always one
// function, nothing stands in front of the data (raw_allocate, COW and is_simple_data_ptr rest on it).
// Records also while no run observes, since what a set-up makes may die in a step.
template <const Wrapped& wrapped>
class RecordingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    auto data = wrapped.allocator->allocate(bytes);
    auto* to = record_here.load(std::memory_order_acquire);
    if (to == nullptr || !take_over<wrapped>(data)) return data;
    const auto address = reinterpret_cast<std::uintptr_t>(data.get());
    to->blocks.insert({address, static_cast<std::int64_t>(bytes), current_step.load(std::memory_order_relaxed)});
    if (to->is_recording.load(std::memory_order_relaxed)) to->stacks.add(address);
    return data;
  }
  [[nodiscard]] c10::DeleterFnPtr raw_deleter() const override { return &delete_block<wrapped>; }
  void copy_data(void* target, const void* source, std::size_t bytes) const override {
    wrapped.allocator->copy_data(target, source, bytes);
  }
};

// torch's own allocator is an object without members, and storages hold its address: those of deep copies, of
// torch.UntypedStorage(n) and of all tensors made so far ask it by that, and never the one that is registered. So ours
// takes its place there, and the original lives on in a copy.
void replace_in_place(c10::Allocator* allocator) {
  static_assert(sizeof(RecordingAllocator<of_torch>) == sizeof(c10::Allocator));
  alignas(c10::Allocator) static std::byte original[sizeof(c10::Allocator)];
  std::memcpy(original, static_cast<void*>(allocator), sizeof original);
  of_torch.allocator = std::launder(reinterpret_cast<c10::Allocator*>(original));
  new (static_cast<void*>(allocator)) RecordingAllocator<of_torch>;
}

// A user's own allocator may have members, and may ask torch's: only what goes through the registered one is seen.
c10::Allocator* register_in_front_of(c10::Allocator* allocator) {
  of_user.allocator = allocator;
  static auto* in_front = new RecordingAllocator<of_user>;
  constexpr std::uint8_t kPriority = 200;  // above torch's own allocators, below a debugger's last word
  c10::SetCPUAllocator(in_front, kPriority);
  return in_front;
}

// Takes the place of the allocator that is in use; false where it is one that cannot be watched. Of the user's
// allocators only the first, from then on.
bool install() {
  static c10::Allocator* ours = nullptr;
  static const bool is_guarded =
      (at_fork({.before = nullptr, .in_parent = nullptr, .in_child = &forget_record_in_child}), true);
  (void)is_guarded;
  if (record_here.load() == nullptr) record_here = new Record;
  auto* in_use = c10::GetCPUAllocator();
  if (in_use == ours || of_user.allocator != nullptr) return true;
  const auto deleter = in_use->raw_deleter();
  if (deleter == nullptr) return false;
  if (in_use == c10::GetDefaultCPUAllocator()) {
    of_torch.deleter = deleter;
    replace_in_place(in_use);
    ours = in_use;
  } else {
    of_user.deleter = deleter;
    ours = register_in_front_of(in_use);
  }
  return true;
}

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

// Also what an earlier run left that failed in the middle of its record pass.
void forget_stacks() {
  record().is_recording = false;
  record().is_explaining = false;
  (void)record().stacks.take();
  (void)record().stacks.take_collected();
}

}  // namespace

void record_cpu_tensors() noexcept {
  try {
    expect_torch_as_built();
    (void)install();
  } catch (const std::exception&) {
    // the run that comes says what is wrong
  }
}

void adopt_cpu_tensors(std::span<const std::uintptr_t> impls) {
  auto* to = record_here.load(std::memory_order_acquire);
  if (to == nullptr) return;
  const auto adopt = [to](const at::Tensor& tensor) {
    const auto shell = shell_of(tensor);
    if (shell.storage == 0 || shell.storage_bytes <= 0) return;
    auto& data = tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl()->_mutable_data_ptr_no_checks();
    const auto address = reinterpret_cast<std::uintptr_t>(data.get());
    if (is_ours<of_torch>(data) || is_ours<of_user>(data)) to->blocks.insert({address, shell.storage_bytes, 0});
  };
  for (const auto impl : impls) {
    const at::Tensor tensor(
        c10::intrusive_ptr<c10::TensorImpl>::reclaim_copy(reinterpret_cast<c10::TensorImpl*>(impl)));
    adopt(tensor);
    // Of a tensor asked, a warning might be the answer.
    if (const auto& gradient = tensor.unsafeGetTensorImpl()->grad(); gradient.defined()) adopt(gradient);
  }
}

std::int64_t live_set_up_blocks() noexcept {
  const auto* from = record_here.load(std::memory_order_acquire);
  return from == nullptr ? 0 : from->blocks.set_up_blocks();
}

CpuAllocatorProbe::CpuAllocatorProbe(std::shared_ptr<StackTable> stacks) : stacks_(std::move(stacks)) {
  if (install()) return;
  throw failure_error("the CPU allocator in use has no raw deleter and cannot be watched",
                      "remove the custom CPU allocator, or run with the default one");
}

CpuAllocatorProbe::~CpuAllocatorProbe() {
  stop_observing_here();
  if (record_here.load() != nullptr) forget_stacks();  // there is none in a child that was forked in a step
}

std::vector<SeriesKey> CpuAllocatorProbe::keys() const {
  return {{Counter::live_bytes, kHost, Moment::before_collection},
          {Counter::live_bytes},
          {Counter::live_blocks},
          {Counter::peak_bytes}};
}

void CpuAllocatorProbe::start() {
  forget_stacks();
  record().blocks.restart();
  start_observing_here();
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

void CpuAllocatorProbe::begin_record(const Pass& /*pass*/) {
  (void)record().stacks.take();
  record().is_explaining = true;
}

void CpuAllocatorProbe::end_record(Recording& recording) {
  auto& from = record();
  from.is_explaining = false;
  for (const auto& capture : from.stacks.take_collected()) {
    Survivor survivor;
    survivor.birth_step = recording.pass.first_step;
    survivor.is_collected = true;
    survivor.stack = stacks_->index_of(capture);
    recording.survivors.push_back(std::move(survivor));
  }
  add_blocks(recording, [&recording](const Block& block) { return recording.is_recorded(block.birth_step); });
}

void CpuAllocatorProbe::read_blocks(Recording& recording) {
  add_blocks(recording, [](const Block&) { return true; });
}

void CpuAllocatorProbe::add_blocks(Recording& recording, const std::function<bool(const Block&)>& is_wanted) {
  const auto captures = stacks_of_live_blocks();
  record().blocks.for_each([&](const Block& block) {
    if (!is_wanted(block)) return;
    const auto found = captures.find(block.address);
    const auto stack = found == captures.end() ? -1 : stacks_->index_of(found->second.capture);
    recording.survivors.push_back(survivor_of(block, kHost, stack));
  });
}

}  // namespace stepleak
