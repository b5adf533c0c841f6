// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "harness/base/process_pages.hpp"

namespace stepleak {

/// Bytes of the process's mappings, in whole pages.
struct MappedBytes {
  std::int64_t shared = 0;    ///< below /dev/shm: storages after `share_memory_()`, batches of a loader's workers
  std::int64_t writable = 0;  ///< of all others that can be written, but for devices', ours and the first stack
};

/// What this process has mapped.
///
/// The kernel's list of mappings is read (1 ms in a process with torch) where what is mapped in all is another than at
/// the last answer, and not by as much as what is private and can be written: that alone tells what malloc does, and
/// is added. What takes the place of a mapping of the other sort and of the same size, between two answers, is seen at
/// the next reading of the list: in a ledger such an error stands still, as long as that happens once. Where the kernel
/// does not tell `data`, what only becomes writable is seen after check(). Not seen: what only a worker maps.
class Mappings {
 public:
  /// `pages` as they are now. Allocates nothing.
  [[nodiscard]] MappedBytes bytes(const ProcessPages& pages);
  /// Lets the next answer read the list, where the kernel does not tell `data`.
  void check() { is_to_check_ = true; }

 private:
  bool is_known_ = false;
  bool is_to_check_ = false;
  ProcessPages pages_;  // at the last answer
  MappedBytes bytes_;
};

}  // namespace stepleak
