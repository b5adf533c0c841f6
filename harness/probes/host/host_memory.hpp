// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace stepleak {

/// How much memory this process can have on the host, and how much of that is in use, in bytes: of its control group
/// where that has a limit, else of the machine. 0 where the system does not answer.
struct HostMemory {
  std::int64_t total_bytes = 0;
  std::int64_t used_bytes = 0;
};

[[nodiscard]] HostMemory host_memory();

}  // namespace stepleak
