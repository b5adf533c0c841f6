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
/// is added. So a mapping that takes the place of another one of the same size is seen only after check(), and one that
/// only becomes writable where the kernel does not tell `data` only after forget(). Not seen: what only a worker maps.
class Mappings {
 public:
  /// `pages` as they are now. Allocates nothing.
  [[nodiscard]] MappedBytes bytes(const ProcessPages& pages);
  /// Lets the next answer read the list, unless it is known: as much was mapped and private when it was last read.
  void check() { is_to_check_ = true; }
  void forget() { is_known_ = false; }

 private:
  bool is_known_ = false;
  bool is_to_check_ = false;
  ProcessPages pages_;   // at the last answer
  ProcessPages listed_;  // when the list was last read
  MappedBytes bytes_;
};

}  // namespace stepleak
