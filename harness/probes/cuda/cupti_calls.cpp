// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/cuda/cupti_calls.hpp"

#include <cuda.h>

#include <algorithm>
#include <array>
#include <type_traits>

namespace stepleak {
namespace {

template <typename Member>
struct ClassOf;
template <typename Class, typename Value>
struct ClassOf<Value Class::*> {
  using type = Class;
};

template <auto kMember>
auto value_of(const void* parameters) {
  return static_cast<const typename ClassOf<decltype(kMember)>::type*>(parameters)->*kMember;
}

// CUDA's handles are pointers or numbers.
template <typename Handle>
std::uintptr_t number_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(handle);
  } else {
    return static_cast<std::uintptr_t>(handle);
  }
}

// The call writes the handle to where the parameter points.
template <auto kMember>
std::uintptr_t made(const void* parameters) {
  const auto* handle = value_of<kMember>(parameters);
  return handle == nullptr ? 0 : number_of(*handle);
}

template <auto kMember>
std::uintptr_t given(const void* parameters) {
  return number_of(value_of<kMember>(parameters));
}

template <auto kMember>
std::int64_t bytes(const void* parameters) {
  return static_cast<std::int64_t>(value_of<kMember>(parameters));
}

std::int64_t pitched_bytes(const void* parameters) {
  const auto& call = *static_cast<const cuMemAllocPitch_v2_params*>(parameters);
  return static_cast<std::int64_t>((call.pPitch == nullptr ? call.WidthInBytes : *call.pPitch) * call.Height);
}

// The driver API names calls, parameters and their members alike.
#define MAKES(type, call, member) \
  WatchedCall { CUPTI_DRIVER_TRACE_CBID_##call, HandleType::type, true, &made<&call##_params::member> }
#define MAKES_BYTES(type, call, member, size) \
  WatchedCall { CUPTI_DRIVER_TRACE_CBID_##call, HandleType::type, true, &made<&call##_params::member>, size }
#define DESTROYS(type, call, member) \
  WatchedCall { CUPTI_DRIVER_TRACE_CBID_##call, HandleType::type, false, &given<&call##_params::member> }

auto sorted(auto calls) {
  std::sort(calls.begin(), calls.end(), [](const WatchedCall& a, const WatchedCall& b) { return a.id < b.id; });
  return calls;
}

const auto& calls() {
  static const auto all = sorted(std::array{
      MAKES_BYTES(device_memory, cuMemAlloc_v2, dptr, &bytes<&cuMemAlloc_v2_params::bytesize>),
      MAKES_BYTES(device_memory, cuMemAllocPitch_v2, dptr, &pitched_bytes),
      MAKES_BYTES(device_memory, cuMemAllocManaged, dptr, &bytes<&cuMemAllocManaged_params::bytesize>),
      MAKES_BYTES(device_memory, cuMemAllocAsync, dptr, &bytes<&cuMemAllocAsync_params::bytesize>),
      MAKES_BYTES(device_memory, cuMemAllocAsync_ptsz, dptr, &bytes<&cuMemAllocAsync_ptsz_params::bytesize>),
      MAKES_BYTES(device_memory, cuMemAllocFromPoolAsync, dptr, &bytes<&cuMemAllocFromPoolAsync_params::bytesize>),
      MAKES_BYTES(device_memory, cuMemAllocFromPoolAsync_ptsz, dptr,
                  &bytes<&cuMemAllocFromPoolAsync_ptsz_params::bytesize>),
      DESTROYS(device_memory, cuMemFree_v2, dptr),
      DESTROYS(device_memory, cuMemFreeAsync, dptr),
      DESTROYS(device_memory, cuMemFreeAsync_ptsz, dptr),
      MAKES_BYTES(virtual_memory, cuMemCreate, handle, &bytes<&cuMemCreate_params::size>),
      DESTROYS(virtual_memory, cuMemRelease, handle),
      MAKES_BYTES(pinned_memory, cuMemHostAlloc, pp, &bytes<&cuMemHostAlloc_params::bytesize>),
      MAKES_BYTES(pinned_memory, cuMemAllocHost_v2, pp, &bytes<&cuMemAllocHost_v2_params::bytesize>),
      DESTROYS(pinned_memory, cuMemFreeHost, p),
      MAKES(array, cuArrayCreate_v2, pHandle),
      MAKES(array, cuArray3DCreate_v2, pHandle),
      DESTROYS(array, cuArrayDestroy, hArray),
      MAKES(array, cuMipmappedArrayCreate, pHandle),
      DESTROYS(array, cuMipmappedArrayDestroy, hMipmappedArray),
      MAKES(memory_pool, cuMemPoolCreate, pool),
      DESTROYS(memory_pool, cuMemPoolDestroy, pool),
      MAKES(stream, cuStreamCreate, phStream),
      MAKES(stream, cuStreamCreateWithPriority, phStream),
      DESTROYS(stream, cuStreamDestroy_v2, hStream),
      MAKES(event, cuEventCreate, phEvent),
      DESTROYS(event, cuEventDestroy_v2, hEvent),
      MAKES(graph_definition, cuGraphCreate, phGraph),
      MAKES(graph_definition, cuGraphClone, phGraphClone),
      MAKES(graph_definition, cuStreamEndCapture, phGraph),
      MAKES(graph_definition, cuStreamEndCapture_ptsz, phGraph),
      DESTROYS(graph_definition, cuGraphDestroy, hGraph),
      MAKES(graph, cuGraphInstantiate_v2, phGraphExec),
      MAKES(graph, cuGraphInstantiateWithFlags, phGraphExec),
      MAKES(graph, cuGraphInstantiateWithParams, phGraphExec),
      MAKES(graph, cuGraphInstantiateWithParams_ptsz, phGraphExec),
      DESTROYS(graph, cuGraphExecDestroy, hGraphExec),
      MAKES(module, cuModuleLoad, module),
      MAKES(module, cuModuleLoadData, module),
      MAKES(module, cuModuleLoadDataEx, module),
      MAKES(module, cuModuleLoadFatBinary, module),
      DESTROYS(module, cuModuleUnload, hmod),
      MAKES(library, cuLibraryLoadData, library),
      MAKES(library, cuLibraryLoadFromFile, library),
      DESTROYS(library, cuLibraryUnload, library),
      MAKES(texture, cuTexObjectCreate, pTexObject),
      DESTROYS(texture, cuTexObjectDestroy, texObject),
      MAKES(surface, cuSurfObjectCreate, pSurfObject),
      DESTROYS(surface, cuSurfObjectDestroy, surfObject),
  });
  return all;
}

#undef MAKES
#undef MAKES_BYTES
#undef DESTROYS

}  // namespace

std::span<const WatchedCall> watched_calls() { return calls(); }

const WatchedCall* find_call(CUpti_CallbackId id) {
  const auto& all = calls();
  const auto found = std::lower_bound(
      all.begin(), all.end(), id, [](const WatchedCall& call, CUpti_CallbackId wanted) { return call.id < wanted; });
  return found != all.end() && found->id == id ? &*found : nullptr;
}

}  // namespace stepleak
