// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace stepleak {

/// Shared memory that this process has mapped, in bytes, in whole pages: storages after `share_memory_()`, batches of a
/// loader's workers, `multiprocessing.shared_memory` (all that lies below /dev/shm).
///
/// The kernel's list of mappings is read where the size of all of them together has changed since the last answer
/// (0.2 ms; else 5 us). So a shared mapping that takes the place of a private one of the same size is seen only after
/// forget(). Not seen: shared memory without a name (`mmap` of nothing, memfd), and what only a worker maps.
class SharedMemory {
 public:
  [[nodiscard]] std::int64_t bytes();
  void forget() { pages_ = -1; }

 private:
  std::int64_t pages_ = -1;  // of all mappings, at the last answer
  std::int64_t bytes_ = 0;
};

}  // namespace stepleak
