// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace stepleak {

/// Shared memory that this process has mapped, in bytes, in whole pages: storages after `share_memory_()`, batches of a
/// loader's workers, `multiprocessing.shared_memory` (all that lies below /dev/shm).
///
/// The kernel's list of mappings is read (0.2 ms) where the size of all of them together, `mapped` of process_pages(),
/// is another than at the last answer. So a shared mapping that takes the place of a private one of the same size is
/// seen only after forget(). Not seen: shared memory without a name (`mmap` of nothing, memfd), and what only a worker
/// maps.
class SharedMemory {
 public:
  [[nodiscard]] std::int64_t bytes(std::int64_t mapped);
  void forget() { mapped_ = -1; }

 private:
  std::int64_t mapped_ = -1;  // at the last answer
  std::int64_t bytes_ = 0;
};

}  // namespace stepleak
