// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace stepleak {

/// What malloc tells of itself.
struct HeapBytes {
  std::int64_t in_use = 0;   ///< handed out. Freed blocks that another thread's cache keeps may count as handed out
  std::int64_t mapped = -1;  ///< of the process's writable mappings that are its own; -1: it does not tell
};

/// The bytes that malloc has handed out in this process. A library that is preloaded, or linked first, may have taken
/// malloc over: jemalloc, tcmalloc and the sanitizers are asked by their own functions. What answers is found by a
/// trial allocation, so an allocator that keeps its numbers to itself (mimalloc) is known to be unseen instead of read
/// as standing still.
class HostHeap {
 public:
  HostHeap();

  [[nodiscard]] bool is_seen() const { return bytes_ != nullptr; }
  /// "glibc", "jemalloc", "tcmalloc", "sanitizer", or the file that malloc is in.
  [[nodiscard]] const std::string& allocator() const { return allocator_; }
  /// Only where it is seen.
  [[nodiscard]] HeapBytes bytes() const { return bytes_(); }

 private:
  using Bytes = HeapBytes (*)();

  Bytes bytes_ = nullptr;
  std::string allocator_;
};

}  // namespace stepleak
