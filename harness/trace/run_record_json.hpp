// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "harness/trace/run_record.hpp"

namespace stepleak {

/// The version of docs/schema/trace.schema.json; raised when a reader could be misled.
inline constexpr int kTraceVersion = 1;

/// One JSON object as docs/schema/trace.schema.json describes it, on one line.
[[nodiscard]] std::string to_json(const RunRecord& record);

/// Reads what to_json() wrote: the same value. Throws a failure error that names what is wrong, and `origin`.
[[nodiscard]] RunRecord run_record_from_json(std::string_view text, const std::string& origin);

}  // namespace stepleak
