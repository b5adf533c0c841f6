// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/errors.hpp"
#include "harness/trace/result.hpp"

namespace stepleak {

/// The version of docs/schema/result.schema.json; raised when a reader could be misled.
inline constexpr int kResultSchema = 1;

/// One JSON object as docs/schema/result.schema.json describes it, pretty-printed with a final newline.
[[nodiscard]] std::string to_json(const Result& result);

/// Reads what to_json() wrote. Throws a failure error naming the missing or malformed key.
[[nodiscard]] Result result_from_json(std::string_view text);

/// The results of a file that can be read, in order.
struct StoredResults {
  std::vector<Result> results;
  std::optional<Error> error;  ///< of the first of a list that cannot; none: all can
};

/// The same of a file that has one result, or a list of them, where one that is wrong costs none of the others; the
/// error names `origin`. Throws where the file holds neither, or no result of its list can be read.
[[nodiscard]] StoredResults results_from_json(std::string_view text, const std::string& origin);

}  // namespace stepleak
