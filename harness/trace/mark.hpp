// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stepleak {

/// What of the user's own loop begins.
enum class MarkType : std::uint8_t {
  epoch,       ///< the data anew, to train on
  evaluation,  ///< data without gradients
};

[[nodiscard]] std::string_view to_string(MarkType type);
[[nodiscard]] std::optional<MarkType> parse_mark_type(std::string_view name);

/// It begins in this step. Drawn beside the ledgers, and not judged by: a period is found in the ledgers themselves.
struct Mark {
  std::int64_t step = 0;
  MarkType type = MarkType::epoch;

  bool operator==(const Mark&) const = default;
};

}  // namespace stepleak
