// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/cuda/device_allocator_probe.hpp"

#include <ATen/Context.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "harness/base/step_failure.hpp"
#include "harness/probes/block_log.hpp"
#include "harness/probes/block_table.hpp"
#include "harness/probes/cuda/allocator_blocks.hpp"
#include "harness/probes/cuda/cuda_devices.hpp"
#include "harness/probes/fork_guard.hpp"
#include "harness/probes/step_clock.hpp"
#include "harness/probes/torch/stack_recorder.hpp"

namespace stepleak {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;
using TraceEntry = allocator::TraceEntry;

// Of each of four priorities torch hands out 32 streams in turn (kStreamsPerPool and max_compile_time_stream_priorities
// of c10/cuda/CUDAStream); and there is the default one.
constexpr std::size_t kMostPooledStreams = 4 * 32 + 1;

// The streams that have had a segment. Changed under the allocator's lock of their device only; allocates nothing.
class SegmentStreams {
 public:
  // Whether it is the first segment of one of so few streams that torch's pools may have made them all.
  bool add(const void* stream) {
    const auto end = seen_.begin() + static_cast<std::ptrdiff_t>(count_);
    if (count_ == seen_.size() || std::find(seen_.begin(), end, stream) != end) return false;
    seen_[count_++] = stream;
    return true;
  }

  void clear() { count_ = 0; }

 private:
  std::array<const void*, kMostPooledStreams> seen_{};
  std::size_t count_ = 0;
};

// Never destroyed: blocks may be freed after main().
struct DeviceRecord {
  BlockTable blocks{std::size_t{1} << 12};
  BlockLog log{blocks};
  SegmentStreams streams;
  std::atomic<std::int64_t> private_pool_bytes{0};
};

// What the record pass keeps of an event: the stack of a segment that was taken, or of a block that a collection
// freed.
struct EventStack {
  Device device;
  std::int64_t bytes = 0;
  std::int64_t step = 0;
  bool is_collected = false;
  HandleType handle = HandleType::none;
  std::shared_ptr<c10::GatheredContext> context;
};

enum class Coverage : std::uint8_t { full, levels, none };

struct Record {
  Coverage coverage = Coverage::none;
  std::vector<DeviceRecord*> devices;
  std::atomic<bool> is_explaining{false};
  std::atomic<bool> is_collecting{false};  // between the two readings of a boundary
  std::mutex mutex;                        // a leaf: nothing else is locked under it
  std::vector<EventStack> stacks;
};

constexpr std::size_t kMostEventStacks = 1024;

Record& record() {
  static auto* instance = new Record;
  return *instance;
}

void keep_stack(const TraceEntry& event, bool is_collected, HandleType handle) {
  const std::scoped_lock lock(record().mutex);
  auto& stacks = record().stacks;
  if (stacks.size() >= kMostEventStacks || !event.context_) return;
  stacks.push_back({{DeviceType::cuda, event.device_},
                    static_cast<std::int64_t>(event.size_),
                    current_step.load(std::memory_order_relaxed),
                    is_collected,
                    handle,
                    event.context_});
}

// What was kept, and destroyed by the caller without the lock.
std::vector<EventStack> take_stacks() {
  const std::scoped_lock lock(record().mutex);
  return std::exchange(record().stacks, {});
}

// Under the allocator's lock, and perhaps under the GIL: no call into torch; in the screen pass no lock but
// the log's leaf, and no allocation once the table has its size.
void on_event(const TraceEntry& event) {
  // torch has no way to detach it: between runs it must cost next to nothing.
  if (!is_observing_here()) return;
  const auto& devices = record().devices;
  const auto index = static_cast<std::size_t>(event.device_);
  if (index >= devices.size()) return;
  auto& device = *devices[index];
  const auto bytes = static_cast<std::int64_t>(event.size_);
  const bool is_private = event.mempool_.first != 0 || event.mempool_.second != 0;
  switch (event.action_) {
    case TraceEntry::ALLOC:
      device.log.made({event.addr_, bytes, current_step.load(std::memory_order_relaxed)});
      break;
    case TraceEntry::FREE_REQUESTED:
      if (!record().is_explaining || !record().is_collecting) {
        device.log.freed(event.addr_, bytes);
      } else if (device.log.erase(event.addr_, bytes)) {
        keep_stack(event, true, HandleType::none);
      }
      break;
    case TraceEntry::SEGMENT_ALLOC:
    case TraceEntry::SEGMENT_MAP: {
      if (is_private) device.private_pool_bytes.fetch_add(bytes, std::memory_order_relaxed);
      const bool is_first = device.streams.add(event.stream_);
      if (record().is_explaining) {
        keep_stack(event, false,
                   is_private ? HandleType::private_segment
                   : is_first ? HandleType::first_segment
                              : HandleType::segment);
      }
      break;
    }
    case TraceEntry::SEGMENT_FREE:
    case TraceEntry::SEGMENT_UNMAP:
      if (is_private) device.private_pool_bytes.fetch_sub(bytes, std::memory_order_relaxed);
      break;
    default:
      break;
  }
}

// Before CUDA is initialised an attachment would be lost without a word.
void attach_once() {
  static const bool is_attached = [] {
    at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
    auto& to = record();
    for (int i = 0; i < c10::cuda::device_count(); ++i) to.devices.push_back(new DeviceRecord);
    if (!has_statistics()) return true;
    to.coverage = Coverage::levels;
    try {
      allocator::attachAllocatorTraceTracker(&on_event);
      to.coverage = Coverage::full;
    } catch (const c10::Error&) {
      // cudaMallocAsync: statistics only, and gap() says so.
    }
    return true;
  }();
  (void)is_attached;
}

allocator::DeviceStats stats_of(std::size_t index) {
  return allocator::getDeviceStats(static_cast<c10::DeviceIndex>(index));
}

// [0]: over small and large blocks together.
std::int64_t level(const c10::CachingAllocator::StatArray& stats) { return stats[0].current; }

void synchronise_current_device() {
  if (const auto error = cudaDeviceSynchronize(); error != cudaSuccess) {
    throw StepFailure(fmt::format("CUDA failed while the step's work was waited for: {}", cudaGetErrorString(error)),
                      "find the kernel with CUDA_LAUNCH_BLOCKING=1, or with compute-sanitizer");
  }
}

void check_no_capture_is_open() {
  auto status = cudaStreamCaptureStatusNone;
  (void)cudaStreamIsCapturing(c10::cuda::getCurrentCUDAStream().stream(), &status);
  if (status != cudaStreamCaptureStatusNone) {
    throw StepFailure("the step left a stream capture open",
                      "end it: leave the torch.cuda.graph block, or call capture_end()");
  }
}

// Between runs nobody watched: the table begins with what is in use now, born before the first step.
void take_stock(std::size_t device) {
  auto& record_of_device = *record().devices[device];
  auto& blocks = record_of_device.blocks;
  std::vector<std::uintptr_t> addresses;
  blocks.for_each([&](const Block& block) { addresses.push_back(block.address); });
  for (const auto address : addresses) blocks.erase(address);
  blocks.restart();
  auto& streams = record_of_device.streams;
  streams.clear();
  for (const auto* stream : streams_with_segments(device)) streams.add(stream);
  for (const auto& block : blocks_in_use(device)) {
    if (!block.is_waiting) blocks.insert({block.address, block.bytes, 0});
  }
  record_of_device.log.begin();
}

// Of a device at a boundary.
struct Reading {
  std::size_t device;
  allocator::DeviceStats stats;
  const DeviceRecord& record;
};

std::int64_t live_bytes(const Reading& at) { return level(at.stats.allocated_bytes); }

std::int64_t peak_bytes(const Reading& at) {
  return live_bytes(at) + at.record.log.peak_bytes() - at.record.log.live_bytes();
}

std::int64_t private_pool_bytes(const Reading& at) {
  return at.record.private_pool_bytes.load(std::memory_order_relaxed);
}

std::int64_t largest_free_block_bytes(const Reading& at) {
  std::size_t largest = 1;  // 0 would ask the driver for a first guess
  allocator::cacheInfo(static_cast<c10::DeviceIndex>(at.device), &largest);
  return static_cast<std::int64_t>(largest);
}

struct Column {
  Counter counter;
  std::int64_t (*value)(const Reading&);
  bool is_of_blocks = false;  // of the native back end alone: cudaMallocAsync says 0 of them
  Moment read_at = Moment::after_collection;
  Moment moment = Moment::after_collection;  // of which it is
};

// The peak is one of the step, and read before the collection may free.
constexpr std::array kColumns{
    Column{.counter = Counter::live_bytes,
           .value = &live_bytes,
           .read_at = Moment::before_collection,
           .moment = Moment::before_collection},
    Column{.counter = Counter::live_bytes, .value = &live_bytes},
    Column{.counter = Counter::peak_bytes, .value = &peak_bytes, .read_at = Moment::before_collection},
    Column{.counter = Counter::active_bytes, .value = [](const Reading& at) { return level(at.stats.active_bytes); }},
    Column{.counter = Counter::reserved_bytes,
           .value = [](const Reading& at) { return level(at.stats.reserved_bytes); }},
    Column{.counter = Counter::live_blocks,
           .value = [](const Reading& at) { return level(at.stats.allocation); },
           .is_of_blocks = true},
    Column{.counter = Counter::segment_count,
           .value = [](const Reading& at) { return level(at.stats.segment); },
           .is_of_blocks = true},
    Column{.counter = Counter::largest_free_block_bytes, .value = &largest_free_block_bytes, .is_of_blocks = true},
    Column{.counter = Counter::inactive_split_bytes,
           .value = [](const Reading& at) { return level(at.stats.inactive_split_bytes); },
           .is_of_blocks = true},
    Column{.counter = Counter::private_pool_bytes, .value = &private_pool_bytes, .is_of_blocks = true},
};

bool is_kept(const Column& column) { return !column.is_of_blocks || record().coverage != Coverage::levels; }

const BlockTable& blocks_by_now(std::size_t device) {
  auto& record_of_device = *record().devices[device];
  record_of_device.log.settle();
  return record_of_device.blocks;
}

// Calls `visit` with each block in use and its birth step: 0 where nobody watched yet when it was made.
template <typename Visit>
void for_each_block(std::size_t device, const Visit& visit) {
  std::unordered_map<std::uintptr_t, std::int64_t> births;
  blocks_by_now(device).for_each([&](const Block& block) { births.emplace(block.address, block.birth_step); });
  for (const auto& block : blocks_in_use(device)) {
    const auto birth = births.find(block.address);
    visit(block, birth == births.end() ? 0 : birth->second);
  }
}

}  // namespace

DeviceAllocatorProbe::DeviceAllocatorProbe(std::shared_ptr<StackTable> stacks) : stacks_(std::move(stacks)) {
  attach_once();
}

DeviceAllocatorProbe::~DeviceAllocatorProbe() {
  // A probe that only said what is here (gap()) has attached nothing.
  if (!is_started_) return;
  stop_observing_here();
  record().is_explaining = false;
  if (record().coverage == Coverage::full) record_allocation_stacks(false);
  (void)take_stacks();
}

std::string DeviceAllocatorProbe::gap() const {
  switch (record().coverage) {
    case Coverage::full:
      return {};
    case Coverage::levels:
      return fmt::format(
          "the allocator back end {} reports levels and no events: leaks are seen, their stacks and ages are not",
          allocator::name());
    case Coverage::none:
      break;
  }
  return "device tensors bypass torch's caching allocator (a pluggable one, or PYTORCH_NO_CUDA_MEMORY_CACHING): they "
         "are seen only as memory of the process, in steps of 2 MiB";
}

std::vector<SeriesKey> DeviceAllocatorProbe::keys() const {
  std::vector<SeriesKey> keys;
  for (std::size_t i = 0; i < record().devices.size(); ++i) {
    for (const auto& column : kColumns) {
      if (is_kept(column)) keys.push_back({column.counter, device_at(i), column.moment});
    }
  }
  return keys;
}

void DeviceAllocatorProbe::start() {
  // An earlier run may have failed in the middle of its record pass.
  record().is_explaining = false;
  (void)take_stacks();
  if (record().coverage == Coverage::full) {
    for (std::size_t i = 0; i < record().devices.size(); ++i) take_stock(i);
  }
  is_started_ = true;
  start_observing_here();
}

void DeviceAllocatorProbe::begin_step(std::int64_t /*step*/) {
  for (auto* device : record().devices) device->log.reset_peak();
}

void DeviceAllocatorProbe::settle() {
  for (std::size_t i = 0; i < record().devices.size(); ++i) {
    if (!has_context(device_at(i))) continue;
    const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(i));
    synchronise_current_device();
    if (record().coverage != Coverage::full) continue;
    const auto stats = stats_of(i);
    // Frees that wait for a stream complete when somebody allocates: nothing else polls.
    if (level(stats.active_bytes) != level(stats.allocated_bytes)) allocator::raw_delete(allocator::raw_alloc(1));
  }
}

void DeviceAllocatorProbe::read(Moment moment, std::span<std::int64_t> row) {
  record().is_collecting = moment == Moment::before_collection;
  if (moment == Moment::after_collection) check_no_capture_is_open();
  if (record().coverage == Coverage::none) {
    std::fill(row.begin(), row.end(), 0);
    return;
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < record().devices.size(); ++i) {
    const Reading reading{i, stats_of(i), *record().devices[i]};
    for (const auto& column : kColumns) {
      if (!is_kept(column)) continue;
      if (column.read_at == moment) row[at] = column.value(reading);
      ++at;
    }
  }
}

void DeviceAllocatorProbe::read_cohorts(std::vector<CohortTable>& tables) {
  if (record().coverage != Coverage::full) return;
  for (std::size_t i = 0; i < record().devices.size(); ++i) {
    tables.push_back(blocks_by_now(i).cohorts(device_at(i), current_step.load()));
  }
}

void DeviceAllocatorProbe::record_stacks(bool is_recording) {
  if (record().coverage == Coverage::full) record_allocation_stacks(is_recording);
}

void DeviceAllocatorProbe::begin_record(const Pass& /*pass*/) { record().is_explaining = true; }

void DeviceAllocatorProbe::end_record(Recording& recording) {
  if (record().coverage != Coverage::full) return;
  record().is_explaining = false;
  for (std::size_t i = 0; i < record().devices.size(); ++i) {
    for_each_block(i, [&](const AllocatorBlock& block, std::int64_t birth_step) {
      if (block.is_waiting) {
        // Its age is not known any more; that it waits after a synchronisation is the evidence.
        auto survivor = to_survivor(block, i, recording.pass.first_step);
        survivor.type = SurvivorType::handle;
        survivor.handle = HandleType::waiting_block;
        recording.survivors.push_back(std::move(survivor));
      } else if (recording.is_recorded(birth_step)) {
        recording.survivors.push_back(to_survivor(block, i, birth_step));
      }
    });
  }
  for (const auto& event : take_stacks()) {
    recording.survivors.push_back({.type = event.is_collected ? SurvivorType::block : SurvivorType::handle,
                                   .device = event.device,
                                   .birth_step = event.step,
                                   .bytes = event.bytes,
                                   .storage_bytes = event.bytes,
                                   .handle = event.handle,
                                   .is_collected = event.is_collected,
                                   .stack = stacks_->index_of(capture_of(event.context))});
  }
}

void DeviceAllocatorProbe::read_blocks(Recording& recording) {
  if (record().coverage != Coverage::full) return;
  for (std::size_t i = 0; i < record().devices.size(); ++i) {
    for_each_block(i, [&](const AllocatorBlock& block, std::int64_t birth_step) {
      if (!block.is_waiting) recording.survivors.push_back(to_survivor(block, i, birth_step));
    });
  }
}

Survivor DeviceAllocatorProbe::to_survivor(const AllocatorBlock& block, std::size_t device, std::int64_t birth_step) {
  return survivor_of({block.address, block.bytes, birth_step}, device_at(device), stacks_->index_of(block.capture));
}

}  // namespace stepleak
