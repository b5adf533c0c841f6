// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace stepleak {

namespace detail {
extern std::atomic<bool> is_observing;  // not inline: modules with hidden symbols would each have their own
}

/// Whether a run observes in this process: false before and after a run, and in every forked child of it (workers of a
/// loader, multiprocessing, os.fork), which inherits all that is attached and runs on with one thread. Every callback
/// of ours asks it first, takes no lock and touches no memory of ours where it is false. A child may start a run of its
/// own.
[[nodiscard]] inline bool is_observing_here() noexcept { return detail::is_observing.load(std::memory_order_relaxed); }

/// Called where a run starts and where what it attached is undone.
void start_observing_here();
void stop_observing_here() noexcept;

/// What a probe does around a fork of this process. `before` takes the probe's own leaf locks, so that what they guard
/// is whole in the child, whatever other threads do at that moment; the other two give them back. `in_child` also drops
/// what was kept. They may allocate; they must not take the GIL or another's lock.
struct ForkHandlers {
  void (*before)();
  void (*in_parent)();
  void (*in_child)();
};

/// For the life of the process: there is no way to take handlers back. Call it once for each.
void at_fork(const ForkHandlers& handlers);

}  // namespace stepleak
