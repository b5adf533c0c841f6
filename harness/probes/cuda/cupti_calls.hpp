// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <cstdint>
#include <span>

#include "harness/trace/handle_type.hpp"

namespace stepleak {

/// A call of the driver API that makes or destroys one.
struct WatchedCall {
  CUpti_driver_api_trace_cbid id{};
  HandleType type{};
  bool is_making = false;
  /// From the call's parameters: the handle or the address; of a call that makes one, after it has succeeded.
  std::uintptr_t (*handle)(const void* parameters) = nullptr;
  /// Null where it is not told in bytes.
  std::int64_t (*bytes)(const void* parameters) = nullptr;
};

/// All that are watched, in the order of `id`.
[[nodiscard]] std::span<const WatchedCall> watched_calls();

/// The one of that id; null where it is not watched. Allocates nothing.
[[nodiscard]] const WatchedCall* find_call(CUpti_CallbackId id);

}  // namespace stepleak
