// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace stepleak {

/// The step that runs now, for callbacks on any thread: 0 in the set-up, then from 1 on.
/// A process-wide number, because thread-local tags do not reach autograd's own threads.
inline std::atomic<std::int64_t> current_step{0};

}  // namespace stepleak
