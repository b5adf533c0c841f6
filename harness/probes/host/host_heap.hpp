// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace stepleak {

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
  /// Only where it is seen. Freed blocks that a thread's cache keeps may count as handed out.
  [[nodiscard]] std::int64_t bytes_in_use() const { return bytes_(); }

 private:
  using BytesInUse = std::int64_t (*)();

  BytesInUse bytes_ = nullptr;
  std::string allocator_;
};

}  // namespace stepleak
