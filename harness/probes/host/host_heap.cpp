// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/probes/host/host_heap.hpp"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <malloc.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace stepleak {
namespace {

// Of the process: a preloaded library comes before libc. Null where nobody has it.
template <typename Function>
Function* symbol(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

using Mallctl = int(const char*, void*, std::size_t*, void*, std::size_t);
using NumericProperty = int(const char*, std::size_t*);

// Its numbers stand still until the epoch is advanced. Blocks that were freed into a thread's cache count as allocated
// there; they are written back over dozens of steps, and what the set-up freed hid a leak of 3 KB a step.
HeapBytes of_jemalloc() {
  static auto* const mallctl = symbol<Mallctl>("mallctl");
  const auto read = [](const char* name, std::size_t& bytes) {
    std::size_t size = sizeof bytes;
    return mallctl(name, &bytes, &size, nullptr, 0) == 0;
  };
  std::uint64_t epoch = 1;
  std::size_t allocated = 0;
  std::size_t cached = 0;
  if (mallctl == nullptr || mallctl("epoch", nullptr, nullptr, &epoch, sizeof epoch) != 0) return {};
  constexpr const char* kCachedInAllArenas = "stats.arenas.4096.tcache_bytes";
  const bool is_known = read("stats.allocated", allocated) && read(kCachedInAllArenas, cached);
  return {.in_use = is_known ? static_cast<std::int64_t>(allocated) - static_cast<std::int64_t>(cached) : 0};
}

HeapBytes of_tcmalloc() {
  static auto* const property = symbol<NumericProperty>("MallocExtension_GetNumericProperty");
  std::size_t bytes = 0;
  const bool is_known = property != nullptr && property("generic.current_allocated_bytes", &bytes) != 0;
  return {.in_use = is_known ? static_cast<std::int64_t>(bytes) : 0};
}

// sanitizer/allocator_interface.h: what AddressSanitizer and its kin have handed out; what waits in quarantine is
// freed.
HeapBytes of_sanitizer() {
  static auto* const allocated = symbol<std::size_t()>("__sanitizer_get_current_allocated_bytes");
  return {.in_use = allocated != nullptr ? static_cast<std::int64_t>(allocated()) : 0};
}

/// How many chunks of a size glibc keeps for each thread: 7, from 2.42 on 16 (TCACHE_FILL_COUNT).
std::size_t cached_chunks() {
  int major = 0;
  int minor = 0;
  std::sscanf(::gnu_get_libc_version(), "%d.%d", &major, &minor);
  return std::pair(major, minor) < std::pair(2, 42) ? 7 : 16;
}

/// mallinfo2() counts as handed out what a thread's cache keeps (tcache): chunks of 24 to 1,032 bytes, 16 apart, that
/// the thread freed. While these caches fill, a steady step rises by 200 to 1,700 bytes a step, for as long as 64
/// steps. A full cache is a constant: so this thread's is filled before each reading, by chunks of each size freed at
/// once.
void fill_thread_cache() {
  constexpr std::size_t kLeast = 24;
  constexpr std::size_t kMost = 1032;
  static const std::size_t most = cached_chunks();
  std::array<void*, 32> chunks{};
  for (auto bytes = kLeast; bytes <= kMost; bytes += 2 * sizeof(void*)) {
    std::size_t count = 0;
    // One that is larger, since too little would have been left beside it, is kept with those of its own size.
    for (std::size_t fitting = 0; fitting < most && count < 2 * most; ++count) {
      chunks[count] = std::malloc(bytes);
      fitting += ::malloc_usable_size(chunks[count]) == bytes ? 1 : 0;
    }
    for (std::size_t i = 0; i < count; ++i) std::free(chunks[i]);
  }
}

HeapBytes of_glibc() {
  fill_thread_cache();
  const auto info = ::mallinfo2();
  return {.in_use = static_cast<std::int64_t>(info.uordblks + info.hblkhd),
          .mapped = static_cast<std::int64_t>(info.arena + info.hblkhd)};
}

// Larger than what any of them keeps in a thread's cache, so that it is counted at once.
constexpr std::int64_t kTrialBytes = 1 << 20;

bool sees_a_trial(HeapBytes (*bytes)()) {
  const auto before = bytes().in_use;
  void* volatile block = std::malloc(kTrialBytes);
  const auto after = bytes().in_use;
  std::free(block);
  // Other threads may free meanwhile.
  return after - before > kTrialBytes / 2;
}

/// The file of `malloc` as that object finds it, or null where the program has no more than a way there: one that lies
/// at a fixed address, as Debian's python3 does, has an entry of that name, which dlsym() takes for the function.
const char* file_of_malloc(const link_map& object) {
  void* const handle = ::dlopen(object.l_name, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* const address = ::dlsym(handle, "malloc");
  ::dlclose(handle);
  Dl_info info{};
  void* entry = nullptr;
  if (address == nullptr || ::dladdr1(address, &info, &entry, RTLD_DL_SYMENT) == 0 || entry == nullptr) return nullptr;
  return static_cast<const ElfW(Sym)*>(entry)->st_shndx == SHN_UNDEF ? nullptr : info.dli_fname;
}

/// In the order in which the loader looks: what the program finds is what all find.
std::string file_of_malloc() {
  const link_map* objects = nullptr;
  void* const program = ::dlopen(nullptr, RTLD_LAZY);
  if (program == nullptr || ::dlinfo(program, RTLD_DI_LINKMAP, &objects) != 0) return "an unknown library";
  for (const auto* object = objects; object != nullptr; object = object->l_next) {
    const char* const file = file_of_malloc(*object);
    // Another one may only need what defines it.
    if (file != nullptr && (object == objects || file == std::string_view(object->l_name))) return file;
  }
  return "an unknown library";
}

}  // namespace

HostHeap::HostHeap() {
  struct Source {
    const char* allocator;
    Bytes bytes;
  };
  // glibc's last: some of the others answer mallinfo2() too (tcmalloc from 2.15 on).
  for (const auto& [allocator, bytes] : {Source{"jemalloc", of_jemalloc}, Source{"tcmalloc", of_tcmalloc},
                                         Source{"sanitizer", of_sanitizer}, Source{"glibc", of_glibc}}) {
    if (!sees_a_trial(bytes)) continue;
    bytes_ = bytes;
    allocator_ = allocator;
    return;
  }
  allocator_ = file_of_malloc();
}

}  // namespace stepleak
