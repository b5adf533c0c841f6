// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace stepleak {

/// Bytes of the process's mappings, in whole pages.
struct MappedBytes {
  std::int64_t shared = 0;    ///< below /dev/shm: storages after `share_memory_()`, batches of a loader's workers
  std::int64_t writable = 0;  ///< of all others that can be written, but for devices' and the first stack
};

/// What this process has mapped.
///
/// The kernel's list of mappings is read (0.2 ms) where the size of all of them together, `mapped` of process_pages(),
/// is another than at the last answer. So a mapping that takes the place of another one of the same size, or that only
/// becomes writable, is seen only after forget(). Not seen: what only a worker maps.
class Mappings {
 public:
  [[nodiscard]] MappedBytes bytes(std::int64_t mapped);
  void forget() { mapped_ = -1; }

 private:
  std::int64_t mapped_ = -1;  // at the last answer
  MappedBytes bytes_;
};

}  // namespace stepleak
