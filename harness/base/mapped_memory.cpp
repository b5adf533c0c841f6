// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/base/mapped_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <new>

namespace stepleak {
namespace {

std::atomic<std::int64_t> mapped_bytes{0};

std::int64_t in_pages(std::size_t bytes) {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return static_cast<std::int64_t>((bytes + page - 1) / page * page);
}

class MappedResource final : public std::pmr::memory_resource {
 private:
  void* do_allocate(std::size_t bytes, std::size_t /*alignment*/) override { return map_memory(bytes); }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t /*alignment*/) override {
    unmap_memory(memory, bytes);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace

void* try_to_map_memory(std::size_t bytes) noexcept {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  mapped_bytes.fetch_add(in_pages(bytes), std::memory_order_relaxed);
  return memory;
}

void* map_memory(std::size_t bytes) {
  void* memory = try_to_map_memory(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void unmap_memory(void* memory, std::size_t bytes) noexcept {
  ::munmap(memory, bytes);
  mapped_bytes.fetch_sub(in_pages(bytes), std::memory_order_relaxed);
}

std::int64_t own_mapped_bytes() noexcept { return mapped_bytes.load(std::memory_order_relaxed); }

std::pmr::memory_resource* mapped_memory() {
  static auto* resource = new MappedResource;
  return resource;
}

}  // namespace stepleak
