// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/allocation_hooks.hpp"

#include <malloc.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "harness/probes/fork_guard.hpp"
#include "harness/probes/symbol_patches.hpp"

namespace stepleak {
namespace {

std::atomic<const AllocationListener*> listener_here{nullptr};

// On this thread: what is allocated inside is ours, or part of an allocation that is told as a whole. Of the initial
// model: with any other its first use on a thread may allocate.
[[gnu::tls_model("initial-exec")]] thread_local bool is_inside = false;

class Inside {
 public:
  Inside() noexcept : was_inside_(std::exchange(is_inside, true)) {}
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { is_inside = was_inside_; }

 private:
  bool was_inside_;
};

template <typename Tell>
void tell(const void* block, const Tell& about) noexcept {
  if (block == nullptr || is_inside || !is_observing_here()) return;
  const auto* listener = listener_here.load(std::memory_order_acquire);
  if (listener == nullptr) return;
  const Inside inside;
  const auto error = errno;
  about(*listener);
  errno = error;
}

void* tell_made(void* block, std::size_t bytes, const void* caller) noexcept {
  tell(block, [&](const AllocationListener& listener) { listener.on_made(block, bytes, caller); });
  return block;
}

void tell_freed(void* block) noexcept {
  tell(block, [&](const AllocationListener& listener) { listener.on_freed(block); });
}

// What the process calls by each name: a preloaded library's, before libc's.
struct Originals {
  decltype(&::malloc) malloc = nullptr;
  decltype(&::calloc) calloc = nullptr;
  decltype(&::realloc) realloc = nullptr;
  decltype(&::free) free = nullptr;
  decltype(&::posix_memalign) posix_memalign = nullptr;
  decltype(&::aligned_alloc) aligned_alloc = nullptr;
  decltype(&::memalign) memalign = nullptr;
  // The second is the first by another name, of 64-bit offsets; both are called.
  decltype(&::mmap) mmap[2] = {};
  decltype(&::munmap) munmap = nullptr;
  // Of one object, and of an array.
  void* (*make[2])(std::size_t) = {};
  void* (*make_or_null[2])(std::size_t, const std::nothrow_t&) = {};
  void* (*make_aligned[2])(std::size_t, std::align_val_t) = {};
  void (*destroy[2])(void*) = {};
  void (*destroy_sized[2])(void*, std::size_t) = {};
  void (*destroy_aligned[2])(void*, std::align_val_t) = {};
  void (*destroy_sized_aligned[2])(void*, std::size_t, std::align_val_t) = {};
};
Originals originals;

void* hook_malloc(std::size_t bytes) noexcept {
  return tell_made(originals.malloc(bytes), bytes, __builtin_return_address(0));
}

void* hook_calloc(std::size_t count, std::size_t bytes) noexcept {
  return tell_made(originals.calloc(count, bytes), count * bytes, __builtin_return_address(0));
}

void* hook_realloc(void* block, std::size_t bytes) noexcept {
  tell_freed(block);
  return tell_made(originals.realloc(block, bytes), bytes, __builtin_return_address(0));
}

void hook_free(void* block) noexcept {
  tell_freed(block);
  originals.free(block);
}

int hook_posix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept {
  const int error = originals.posix_memalign(block, alignment, bytes);
  if (error == 0) tell_made(*block, bytes, __builtin_return_address(0));
  return error;
}

void* hook_aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return tell_made(originals.aligned_alloc(alignment, bytes), bytes, __builtin_return_address(0));
}

void* hook_memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return tell_made(originals.memalign(alignment, bytes), bytes, __builtin_return_address(0));
}

template <int Form>
void* hook_mmap(void* at, std::size_t bytes, int rights, int flags, int file, off_t offset) noexcept {
  void* block = originals.mmap[Form](at, bytes, rights, flags, file, offset);
  const bool is_memory = block != MAP_FAILED && (rights & PROT_WRITE) != 0;
  if (is_memory) tell_made(block, bytes, __builtin_return_address(0));
  return block;
}

int hook_munmap(void* block, std::size_t bytes) noexcept {
  tell_freed(block);
  return originals.munmap(block, bytes);
}

// Most of them call malloc: told here, by who called them.
template <auto Member, int Form, typename... Further>
void* hook_make(std::size_t bytes, Further... further) {
  void* block = nullptr;
  {
    const Inside inside;
    block = (originals.*Member)[Form](bytes, further...);
  }
  return tell_made(block, bytes, __builtin_return_address(0));
}

template <auto Member, int Form, typename... Further>
void hook_destroy(void* block, Further... further) {
  tell_freed(block);
  const Inside inside;
  (originals.*Member)[Form](block, further...);
}

template <typename Function>
void add(std::vector<SymbolPatch>& patches, const char* name, Function*& original, Function* hook) {
  patches.push_back(find_symbol(name, reinterpret_cast<void*>(hook)));
  original = reinterpret_cast<Function*>(patches.back().definition);
}

template <int Form>
void add_operators(std::vector<SymbolPatch>& patches, const std::vector<const char*>& names) {
  using O = Originals;
  using Nothrow = const std::nothrow_t&;
  using Align = std::align_val_t;
  add(patches, names[0], originals.make[Form], &hook_make<&O::make, Form>);
  add(patches, names[1], originals.make_or_null[Form], &hook_make<&O::make_or_null, Form, Nothrow>);
  add(patches, names[2], originals.make_aligned[Form], &hook_make<&O::make_aligned, Form, Align>);
  add(patches, names[3], originals.destroy[Form], &hook_destroy<&O::destroy, Form>);
  add(patches, names[4], originals.destroy_sized[Form], &hook_destroy<&O::destroy_sized, Form, std::size_t>);
  add(patches, names[5], originals.destroy_aligned[Form], &hook_destroy<&O::destroy_aligned, Form, Align>);
  add(patches, names[6], originals.destroy_sized_aligned[Form],
      &hook_destroy<&O::destroy_sized_aligned, Form, std::size_t, Align>);
}

std::vector<SymbolPatch> all_patches() {
  std::vector<SymbolPatch> patches;
  add(patches, "malloc", originals.malloc, &hook_malloc);
  add(patches, "calloc", originals.calloc, &hook_calloc);
  add(patches, "realloc", originals.realloc, &hook_realloc);
  add(patches, "free", originals.free, &hook_free);
  add(patches, "posix_memalign", originals.posix_memalign, &hook_posix_memalign);
  add(patches, "aligned_alloc", originals.aligned_alloc, &hook_aligned_alloc);
  add(patches, "memalign", originals.memalign, &hook_memalign);
  add(patches, "mmap", originals.mmap[0], &hook_mmap<0>);
  add(patches, "mmap64", originals.mmap[1], &hook_mmap<1>);
  add(patches, "munmap", originals.munmap, &hook_munmap);
  add_operators<0>(patches, {"_Znwm", "_ZnwmRKSt9nothrow_t", "_ZnwmSt11align_val_t", "_ZdlPv", "_ZdlPvm",
                             "_ZdlPvSt11align_val_t", "_ZdlPvmSt11align_val_t"});
  add_operators<1>(patches, {"_Znam", "_ZnamRKSt9nothrow_t", "_ZnamSt11align_val_t", "_ZdaPv", "_ZdaPvm",
                             "_ZdaPvSt11align_val_t", "_ZdaPvmSt11align_val_t"});
  return patches;
}

// Never destroyed: other threads may be in a hook at the program's end.
SymbolPatches& patches() {
  static auto* instance = new SymbolPatches(all_patches());
  return *instance;
}

}  // namespace

void hook_allocations(const AllocationListener& listener) {
  patches().attach();
  listener_here.store(&listener, std::memory_order_release);
}

void unhook_allocations() noexcept {
  if (listener_here.exchange(nullptr) != nullptr) patches().detach();
}

}  // namespace stepleak
