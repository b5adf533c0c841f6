// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/cuda/handle_probe.hpp"

#include <c10/cuda/CUDACachingAllocator.h>
#include <cuda.h>
#include <cupti.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>

#include "harness/probes/cuda/cuda_devices.hpp"
#include "harness/probes/cuda/cupti_subscription.hpp"
#include "harness/probes/fork_guard.hpp"
#include "harness/probes/step_clock.hpp"
#include "harness/probes/torch/compat/allocator_snapshot.hpp"
#include "harness/probes/torch/stack_recorder.hpp"

namespace stepleak {
namespace {

enum class HandleType : std::uint8_t { device_memory, pinned_memory, stream, event, graph };
constexpr std::array kNames{"device memory", "pinned memory", "stream", "event", "graph"};

struct Handle {
  std::int64_t birth_step = 0;
  std::int64_t bytes = 0;
  StackCapture capture;
};

using HandleKey = std::pair<HandleType, std::uintptr_t>;

// Never destroyed: a callback may be under way on another thread when we unsubscribe.
struct HandleRecord {
  std::mutex mutex;  // a leaf: nothing else is locked under it
  std::map<HandleKey, Handle> handles;
};

HandleRecord& handle_record() {
  static auto* instance = new HandleRecord;
  return *instance;
}

template <typename Pointer>
std::uintptr_t address_of(Pointer pointer) {
  if constexpr (std::is_pointer_v<Pointer>) {
    return reinterpret_cast<std::uintptr_t>(pointer);
  } else {
    return static_cast<std::uintptr_t>(pointer);
  }
}

// What is known, destroyed by the caller without the lock.
std::map<HandleKey, Handle> take_handles() {
  const std::scoped_lock lock(handle_record().mutex);
  return std::exchange(handle_record().handles, {});
}

// torch calls CUDA under locks of its allocators, so the stack must be one that waits for nobody.
template <typename Pointer>
void add(HandleType type, Pointer pointer, std::size_t bytes = 0) {
  Handle handle{current_step.load(std::memory_order_relaxed), static_cast<std::int64_t>(bytes),
                capture_operator_stack()};
  const std::scoped_lock lock(handle_record().mutex);
  std::swap(handle_record().handles[{type, address_of(pointer)}], handle);  // an old one is destroyed without the lock
}

template <typename Pointer>
void remove(HandleType type, Pointer pointer) {
  Handle removed;  // destroyed after the lock was left
  const std::scoped_lock lock(handle_record().mutex);
  const auto found = handle_record().handles.find({type, address_of(pointer)});
  if (found == handle_record().handles.end()) return;
  removed = std::move(found->second);
  handle_record().handles.erase(found);
}

// After the call: what it made is known.
void on_made(CUpti_CallbackId id, const void* given) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2: {
      const auto& call = *static_cast<const cuMemAlloc_v2_params*>(given);
      return add(HandleType::device_memory, *call.dptr, call.bytesize);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged: {
      const auto& call = *static_cast<const cuMemAllocManaged_params*>(given);
      return add(HandleType::device_memory, *call.dptr, call.bytesize);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc: {
      const auto& call = *static_cast<const cuMemHostAlloc_params*>(given);
      return add(HandleType::pinned_memory, *call.pp, call.bytesize);
    }
    case CUPTI_DRIVER_TRACE_CBID_cuStreamCreate:
      return add(HandleType::stream, *static_cast<const cuStreamCreate_params*>(given)->phStream);
    case CUPTI_DRIVER_TRACE_CBID_cuStreamCreateWithPriority:
      return add(HandleType::stream, *static_cast<const cuStreamCreateWithPriority_params*>(given)->phStream);
    case CUPTI_DRIVER_TRACE_CBID_cuEventCreate:
      return add(HandleType::event, *static_cast<const cuEventCreate_params*>(given)->phEvent);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags:
      return add(HandleType::graph, *static_cast<const cuGraphInstantiateWithFlags_params*>(given)->phGraphExec);
    default:
      return;
  }
}

// Before the call: afterwards the address may be another's.
void on_destroying(CUpti_CallbackId id, const void* given) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2:
      return remove(HandleType::device_memory, static_cast<const cuMemFree_v2_params*>(given)->dptr);
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost:
      return remove(HandleType::pinned_memory, static_cast<const cuMemFreeHost_params*>(given)->p);
    case CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2:
      return remove(HandleType::stream, static_cast<const cuStreamDestroy_v2_params*>(given)->hStream);
    case CUPTI_DRIVER_TRACE_CBID_cuEventDestroy_v2:
      return remove(HandleType::event, static_cast<const cuEventDestroy_v2_params*>(given)->hEvent);
    case CUPTI_DRIVER_TRACE_CBID_cuGraphExecDestroy:
      return remove(HandleType::graph, static_cast<const cuGraphExecDestroy_params*>(given)->hGraphExec);
    default:
      return;
  }
}

constexpr std::array kWatched{
    CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2,
    CUPTI_DRIVER_TRACE_CBID_cuMemAllocManaged,
    CUPTI_DRIVER_TRACE_CBID_cuMemHostAlloc,
    CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost,
    CUPTI_DRIVER_TRACE_CBID_cuStreamCreate,
    CUPTI_DRIVER_TRACE_CBID_cuStreamCreateWithPriority,
    CUPTI_DRIVER_TRACE_CBID_cuStreamDestroy_v2,
    CUPTI_DRIVER_TRACE_CBID_cuEventCreate,
    CUPTI_DRIVER_TRACE_CBID_cuEventDestroy_v2,
    CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags,
    CUPTI_DRIVER_TRACE_CBID_cuGraphExecDestroy,
};

void CUPTIAPI on_call(void* /*context*/, CUpti_CallbackDomain /*domain*/, CUpti_CallbackId id, const void* given) {
  if (!is_observing_here()) return;
  const auto& call = *static_cast<const CUpti_CallbackData*>(given);
  if (call.callbackSite == CUPTI_API_ENTER) {
    on_destroying(id, call.functionParams);
  } else if (call.functionReturnValue != nullptr &&
             *static_cast<const CUresult*>(call.functionReturnValue) == CUDA_SUCCESS) {
    on_made(id, call.functionParams);
  }
}

CuptiSubscription& cupti() {
  static CuptiSubscription instance(&on_call);
  return instance;
}

// The segments of torch's own allocator are raw allocations too.
bool is_segment(std::uintptr_t address) {
  namespace allocator = c10::cuda::CUDACachingAllocator;
  if (is_uncached() || allocator::name() != "native") return false;
  const auto segments = allocator_segments();
  return std::any_of(segments.begin(), segments.end(), [&](const auto& segment) { return segment.address == address; });
}

}  // namespace

HandleProbe::HandleProbe(std::shared_ptr<StackTable> stacks) : stacks_(std::move(stacks)) {}

HandleProbe::~HandleProbe() {
  cupti().unsubscribe();
  (void)take_handles();
}

std::string HandleProbe::blocker() {
  auto reason = cupti().subscribe(kWatched);
  cupti().unsubscribe();
  return reason;
}

std::string HandleProbe::gap() const {
  return blocker_.empty() ? "" : "raw CUDA memory, streams, events and graphs are not named: " + blocker_;
}

void HandleProbe::begin_record(const Pass& /*pass*/) {
  (void)take_handles();  // of an earlier pass that failed
  start_observing_here();
  blocker_ = cupti().subscribe(kWatched);
}

void HandleProbe::end_record(Recording& recording) {
  cupti().unsubscribe();
  for (const auto& [key, handle] : take_handles()) {
    const auto& [type, address] = key;
    if (type == HandleType::device_memory && is_segment(address)) continue;
    Survivor survivor;
    survivor.type = SurvivorType::handle;
    survivor.identity = address;
    survivor.birth_step = handle.birth_step;
    survivor.bytes = survivor.storage_bytes = handle.bytes;
    survivor.name = kNames.at(static_cast<std::size_t>(type));
    survivor.stack = stacks_->index_of(handle.capture);
    recording.survivors.push_back(std::move(survivor));
  }
}

}  // namespace stepleak
