// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/base/mapped_memory.hpp"

#include <sys/mman.h>

#include <new>

namespace stepleak {
namespace {

class MappedResource final : public std::pmr::memory_resource {
 private:
  void* do_allocate(std::size_t bytes, std::size_t /*alignment*/) override { return map_memory(bytes); }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t /*alignment*/) override {
    unmap_memory(memory, bytes);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace

void* map_memory(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

void unmap_memory(void* memory, std::size_t bytes) noexcept { ::munmap(memory, bytes); }

std::pmr::memory_resource* mapped_memory() {
  static auto* resource = new MappedResource;
  return resource;
}

}  // namespace stepleak
