// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/fork_guard.hpp"

#include <pthread.h>

namespace stepleak {

std::atomic<bool> detail::is_observing{false};

void start_observing_here() {
  [[maybe_unused]] static const bool is_registered =
      ::pthread_atfork(nullptr, nullptr, [] { detail::is_observing = false; }) == 0;
  detail::is_observing = true;
}

void stop_observing_here() noexcept { detail::is_observing = false; }

void at_fork(const ForkHandlers& handlers) { ::pthread_atfork(handlers.before, handlers.in_parent, handlers.in_child); }

}  // namespace stepleak
