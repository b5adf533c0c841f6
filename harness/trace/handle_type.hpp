// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stepleak {

/// What a program makes through CUDA and destroys again; from `segment` on, what torch's caching allocator does.
enum class HandleType : std::uint8_t {
  none,
  device_memory,   ///< also managed, pitched and stream-ordered memory
  virtual_memory,  ///< physical memory to be mapped
  pinned_memory,
  array,
  memory_pool,
  stream,
  event,
  graph_definition,
  graph,  ///< an executable one
  module,
  library,
  texture,
  surface,
  segment,          ///< taken from the driver for a CUDA stream that had some before
  first_segment,    ///< for a CUDA stream that had none
  private_segment,  ///< for a private pool: a graph's, a MemPool's
  waiting_block,    ///< freed, and not free until another stream is done with it
};
inline constexpr std::size_t kHandleTypeCount = static_cast<std::size_t>(HandleType::waiting_block) + 1;

/// "device memory", "graph definition"; of `none` nothing.
[[nodiscard]] std::string_view to_string(HandleType type);
[[nodiscard]] std::optional<HandleType> parse_handle_type(std::string_view name);

/// Whether it is the caching allocators' own, and not the program's.
[[nodiscard]] bool is_of_allocator(HandleType type);

}  // namespace stepleak
