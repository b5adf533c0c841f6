// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>

namespace stepleak {

/// Whole pages of zeroed memory, aligned for any type. For what we keep of the program beyond a step: on the host heap,
/// which is measured, it would grow as a leak does. Thread-safe. Throws std::bad_alloc where there is no memory.
[[nodiscard]] void* map_memory(std::size_t bytes);
/// The same; null where there is no memory.
[[nodiscard]] void* try_to_map_memory(std::size_t bytes) noexcept;
void unmap_memory(void* memory, std::size_t bytes) noexcept;
/// What is mapped by these now, in whole pages: no part of what a step maps.
[[nodiscard]] std::int64_t own_mapped_bytes() noexcept;

/// For a container of a few large pieces: each takes whole pages.
template <typename T>
struct MappedAllocator {
  using value_type = T;

  MappedAllocator() = default;
  template <typename Other>
  MappedAllocator(const MappedAllocator<Other>& /*other*/) noexcept {}

  [[nodiscard]] T* allocate(std::size_t count) { return static_cast<T*>(map_memory(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t count) noexcept { unmap_memory(memory, count * sizeof(T)); }
  bool operator==(const MappedAllocator& /*other*/) const = default;
};

/// The same to put a pool on, for many small pieces; one for the process, never destroyed.
[[nodiscard]] std::pmr::memory_resource* mapped_memory();

}  // namespace stepleak
