// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace stepleak {

/// Memory of all descendants of this process that run, in bytes: their proportional set sizes (PSS), in which a page
/// that several processes map counts for each by its share. A child's own copies of what it shared with its parent,
/// made as Python counts references, are in it. Nothing where there is no child, or where the kernel lists none
/// (CONFIG_PROC_CHILDREN). Takes some milliseconds a child with torch, since the kernel walks its mappings.
[[nodiscard]] std::optional<std::int64_t> child_memory_bytes();

}  // namespace stepleak
