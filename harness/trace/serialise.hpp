// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/trace/result.hpp"

namespace stepleak {

/// The version of docs/schema/result.schema.json; raised when a reader could be misled.
inline constexpr int kResultSchema = 1;

/// One JSON object as docs/schema/result.schema.json describes it, pretty-printed with a final newline.
[[nodiscard]] std::string to_json(const Result& result);

/// Reads what to_json() wrote. Throws a failure error naming the missing or malformed key.
[[nodiscard]] Result result_from_json(std::string_view text);

/// The same of a file that has one result, or a list of them; the error names `origin`.
[[nodiscard]] std::vector<Result> results_from_json(std::string_view text, const std::string& origin);

}  // namespace stepleak
