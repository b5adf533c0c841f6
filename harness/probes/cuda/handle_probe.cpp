// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/cuda/handle_probe.hpp"

#include <c10/cuda/CUDACachingAllocator.h>
#include <cuda.h>
#include <cupti.h>
#include <execinfo.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "harness/probes/cuda/cuda_devices.hpp"
#include "harness/probes/cuda/cupti_calls.hpp"
#include "harness/probes/cuda/cupti_subscription.hpp"
#include "harness/probes/fork_guard.hpp"
#include "harness/probes/loaded_library.hpp"
#include "harness/probes/step_clock.hpp"
#include "harness/probes/torch/compat/allocator_snapshot.hpp"
#include "harness/probes/torch/stack_recorder.hpp"

namespace stepleak {
namespace {

struct Handle {
  std::size_t device = 0;
  std::int64_t birth_step = 0;
  std::int64_t bytes = 0;
  StackCapture capture;
  std::vector<void*> callers;  // innermost first; in a record pass
};

using HandleKey = std::pair<HandleType, std::uintptr_t>;

// Never destroyed: a callback may be under way on another thread when we unsubscribe.
struct HandleRecord {
  std::mutex mutex;  // a leaf: nothing else is locked under it
  std::map<HandleKey, Handle> handles;
  std::map<std::size_t, std::int64_t> older_gone;  // by device: destroyed, and made before counting began
  std::set<std::uintptr_t> segments;               // of torch's allocator: its own raw memory
  bool has_segments = false;                       // else tensors lie in raw memory, or in a pool of the driver's
  bool has_expandable_segments = false;            // their memory is virtual, and cannot be told from another's
  std::atomic<bool> has_unsorted_memory{false};    // made since it was last told from segments
  std::atomic<bool> is_recording{false};
};

HandleRecord& handle_record() {
  static auto* instance = new HandleRecord;
  return *instance;
}

CuptiSubscription& cupti();

// Page-locked memory has a ledger of torch's own, and is mapped besides; of device memory what is told from tensors.
bool is_counted(const HandleRecord& record, HandleType type) {
  switch (type) {
    case HandleType::pinned_memory:
      return false;
    case HandleType::device_memory:
      return record.has_segments;
    case HandleType::virtual_memory:
      return !record.has_expandable_segments;
    default:
      return true;
  }
}

bool is_memory(HandleType type) { return type == HandleType::device_memory || type == HandleType::virtual_memory; }

// The return addresses of this thread. The unwinder takes no lock but the loader's.
std::vector<void*> callers_here() {
  constexpr int kMostFrames = 32;
  std::vector<void*> callers(kMostFrames);
  callers.resize(static_cast<std::size_t>(::backtrace(callers.data(), kMostFrames)));
  return callers;
}

// Whose code made it: the first below CUDA's own libraries, and ours.
std::string maker_of(const std::vector<void*>& callers) {
  static const auto kOurs = library_of(reinterpret_cast<const void*>(&maker_of));
  for (const auto* caller : callers) {
    auto library = library_of(caller);
    const bool is_cuda = library.starts_with("libcuda.") || library.starts_with("libcudart.") ||
                         library.starts_with("libcupti.") || library == kOurs;
    if (!is_cuda && !library.empty()) return library;
  }
  return {};
}

// torch calls CUDA under locks of its allocators, so the stack must be one that waits for nobody.
void add(const WatchedCall& call, const CUpti_CallbackData& data) {
  const auto address = call.handle(data.functionParams);
  if (address == 0) return;
  Handle handle{.device = cupti().device_of(data.context),
                .birth_step = current_step.load(std::memory_order_relaxed),
                .bytes = call.bytes == nullptr ? 0 : call.bytes(data.functionParams)};
  if (handle_record().is_recording) {
    handle.capture = capture_operator_stack();
    handle.callers = callers_here();
  }
  const std::scoped_lock lock(handle_record().mutex);
  if (is_memory(call.type)) handle_record().has_unsorted_memory = true;
  std::swap(handle_record().handles[{call.type, address}], handle);  // an old one is destroyed without the lock
}

void remove(const WatchedCall& call, const CUpti_CallbackData& data) {
  const auto address = call.handle(data.functionParams);
  if (address == 0) return;
  const auto device = cupti().device_of(data.context);
  Handle removed;  // destroyed after the lock was left
  const std::scoped_lock lock(handle_record().mutex);
  auto& record = handle_record();
  const auto found = record.handles.find({call.type, address});
  if (found != record.handles.end()) {
    removed = std::move(found->second);
    record.handles.erase(found);
  } else if (is_counted(record, call.type) && record.segments.erase(address) == 0) {
    ++record.older_gone[device];
  }
}

// What a call made is known after it. What it destroys is asked before: afterwards the address may be another's.
void CUPTIAPI on_call(void* /*context*/, CUpti_CallbackDomain /*domain*/, CUpti_CallbackId id, const void* given) {
  if (!is_observing_here()) return;
  const auto* call = find_call(id);
  if (call == nullptr) return;
  const auto& data = *static_cast<const CUpti_CallbackData*>(given);
  if (data.callbackSite == CUPTI_API_ENTER) {
    if (!call->is_making) remove(*call, data);
  } else if (call->is_making && data.functionReturnValue != nullptr &&
             *static_cast<const CUresult*>(data.functionReturnValue) == CUDA_SUCCESS) {
    add(*call, data);
  }
}

CuptiSubscription& cupti() {
  static CuptiSubscription instance(&on_call);
  return instance;
}

// The segments of torch's own allocator are raw allocations too. The allocator may not be asked under our lock.
void sort_out_segments() {
  const bool has_segments = !is_uncached() && c10::cuda::CUDACachingAllocator::name() == "native";
  if (!has_segments) return;
  const auto segments = allocator_segments();
  std::vector<Handle> removed;  // destroyed after the lock was left
  const std::scoped_lock lock(handle_record().mutex);
  auto& record = handle_record();
  record.has_segments = true;
  record.has_unsorted_memory = false;
  record.segments.clear();
  const auto drop = [&](std::map<HandleKey, Handle>::iterator handle) {
    removed.push_back(std::move(handle->second));
    return record.handles.erase(handle);
  };
  for (const auto& segment : segments) {
    record.has_expandable_segments = record.has_expandable_segments || segment.is_expandable;
    if (segment.is_expandable) continue;
    record.segments.insert(segment.address);
    const auto own = record.handles.find({HandleType::device_memory, segment.address});
    if (own != record.handles.end()) drop(own);
  }
  if (!record.has_expandable_segments) return;
  for (auto handle = record.handles.begin(); handle != record.handles.end();) {
    handle = handle->first.first == HandleType::virtual_memory ? drop(handle) : std::next(handle);
  }
}

void forget_all() {
  std::map<HandleKey, Handle> forgotten;  // destroyed after the lock was left
  const std::scoped_lock lock(handle_record().mutex);
  auto& record = handle_record();
  forgotten = std::exchange(record.handles, {});
  record.older_gone.clear();
  record.segments.clear();
  record.has_segments = record.has_expandable_segments = false;
  record.has_unsorted_memory = record.is_recording = false;
}

}  // namespace

HandleProbe::HandleProbe(std::shared_ptr<StackTable> stacks, std::size_t device_count, std::int64_t first_counted)
    : stacks_(std::move(stacks)), device_count_(device_count), first_counted_(first_counted) {}

HandleProbe::~HandleProbe() { stop(); }

std::string HandleProbe::blocker() {
  auto reason = cupti().subscribe();
  cupti().unsubscribe();
  return reason;
}

std::string HandleProbe::gap() const {
  return blocker_.empty() ? ""
                          : "CUDA objects (raw memory, streams, events, graphs, modules, textures) are neither counted "
                            "nor named: " +
                                blocker_;
}

std::vector<SeriesKey> HandleProbe::keys() const {
  std::vector<SeriesKey> keys;
  for (std::size_t i = 0; i < device_count_; ++i) keys.push_back({Counter::cuda_objects, device_at(i)});
  return keys;
}

void HandleProbe::begin_step(std::int64_t step) {
  if (step >= first_counted_) begin_counting();
}

void HandleProbe::begin_counting() {
  if (std::exchange(is_begun_, true)) return;
  forget_all();  // of an earlier run that failed
  start_observing_here();
  blocker_ = cupti().subscribe();
  sort_out_segments();
}

void HandleProbe::read(Moment moment, std::span<std::int64_t> row) {
  if (moment != Moment::after_collection || !is_begun_ || !blocker_.empty()) return;
  // A step that makes no raw memory pays for no list of segments.
  if (handle_record().has_unsorted_memory) sort_out_segments();
  std::fill(row.begin(), row.end(), 0);
  const std::scoped_lock lock(handle_record().mutex);
  const auto count = [&](std::size_t device, std::int64_t number) {
    if (device < row.size()) row[device] += number;
  };
  const auto& record = handle_record();
  for (const auto& [key, handle] : record.handles) {
    if (is_counted(record, key.first)) count(handle.device, 1);
  }
  for (const auto& [device, gone] : record.older_gone) count(device, -gone);
}

void HandleProbe::begin_record(const Pass& /*pass*/) {
  begin_counting();
  handle_record().is_recording = true;
}

void HandleProbe::end_record(Recording& recording) {
  handle_record().is_recording = false;
  sort_out_segments();
  std::vector<std::pair<HandleKey, Handle>> born;
  {
    const std::scoped_lock lock(handle_record().mutex);
    for (auto& [key, handle] : handle_record().handles) {
      if (handle.birth_step < recording.pass.first_step) continue;
      born.emplace_back(key, handle);
      handle.capture.reset();
      handle.callers.clear();
    }
  }
  for (const auto& [key, handle] : born) {
    const auto& [type, address] = key;
    Survivor survivor;
    survivor.type = SurvivorType::handle;
    survivor.device = device_at(handle.device);
    survivor.identity = address;
    survivor.birth_step = handle.birth_step;
    survivor.bytes = survivor.storage_bytes = handle.bytes;
    survivor.handle = type;
    survivor.library = maker_of(handle.callers);
    survivor.stack = stacks_->index_of(handle.capture);
    recording.survivors.push_back(std::move(survivor));
  }
}

void HandleProbe::stop() noexcept {
  if (!std::exchange(is_begun_, false)) return;
  cupti().unsubscribe();
  forget_all();
}

}  // namespace stepleak
