// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace stepleak {

/// Who is told of allocations. Both are called by whichever thread allocates or frees, under whatever lock it holds and
/// in the middle of whatever its caller does; allocations that they make themselves are not told. They keep errno.
struct AllocationListener {
  /// `caller`: the return address of malloc or operator new.
  void (*on_made)(void* block, std::size_t bytes, const void* caller) noexcept;
  /// Before it is freed: afterwards the address may be another's.
  void (*on_freed)(void* block) noexcept;
};

/// Tells one listener of each malloc, calloc, realloc, aligned allocation, operator new and their frees of this
/// process, in all that is loaded; again, of what was loaded since. A forked child tells nobody (see
/// is_observing_here()). For the main thread between steps, not thread-safe.
///
/// Not seen: calls inside the library that has malloc, and what the loader itself allocates.
void hook_allocations(const AllocationListener& listener);  // kept by reference

/// Undoes it. A call that is under way may still come.
void unhook_allocations() noexcept;

}  // namespace stepleak
