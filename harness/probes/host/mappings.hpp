// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "harness/base/process_pages.hpp"

namespace stepleak {

/// Bytes of the process's mappings, in whole pages.
struct MappedBytes {
  std::int64_t shared = 0;  ///< below /dev/shm: storages after `share_memory_()`, batches of a loader's workers
  /// Of all others that can be written, but for devices', ours and the first stack. Without what can be executed: the
  /// code that libraries generate for each shape that they meet, of which oneDNN keeps some thousand pieces.
  std::int64_t writable = 0;
};

/// What this process has mapped.
///
/// The kernel's list of mappings is read (1 ms in a process with torch) where what is mapped in all is another than at
/// the last answer, and not by as much as what is private and can be written, or where that is not what malloc mapped.
/// What takes the place of a mapping of the other sort and of the same size, between two answers, is seen at the next
/// reading of the list: in a ledger such an error stands still, as long as that happens once. Where the kernel does not
/// tell `data`, what only becomes writable is seen after check(), or as malloc maps something. Not seen: what only a
/// worker maps.
class Mappings {
 public:
  /// `pages` as they are now. Allocates nothing. `of_malloc`: what malloc has mapped; without it, what is private is
  /// taken for malloc's, until an answer with it.
  [[nodiscard]] MappedBytes bytes(const ProcessPages& pages, std::optional<std::int64_t> of_malloc = std::nullopt);
  /// Lets the next answer read the list, where the kernel does not tell `data`.
  void check() { is_to_check_ = true; }

 private:
  bool is_known_ = false;
  bool is_to_check_ = false;
  ProcessPages pages_;          // at the last answer
  std::int64_t of_malloc_ = 0;  // at the last answer with it
  std::int64_t taken_ = 0;      // for malloc's, since then
  MappedBytes bytes_;
};

}  // namespace stepleak
