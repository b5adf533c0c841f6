// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace stepleak {

/// What this process has mapped, in bytes: proc_pid_statm(5).
struct ProcessPages {
  std::int64_t mapped = 0;    ///< all mappings, taken or not
  std::int64_t resident = 0;  ///< RSS, which the kernel may count late
  std::int64_t data = 0;  ///< private and writable, stacks too: what RLIMIT_DATA limits; 0 where gVisor does not tell
};

/// As it is now, in 5 us; all 0 where /proc does not tell. Allocates nothing.
[[nodiscard]] ProcessPages process_pages();

}  // namespace stepleak
