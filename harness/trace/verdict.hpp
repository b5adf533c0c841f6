// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "harness/base/errors.hpp"

namespace stepleak {

enum class Verdict : std::uint8_t { clean, leak, inconclusive, failure };

[[nodiscard]] std::string_view to_string(Verdict verdict);
[[nodiscard]] std::optional<Verdict> parse_verdict(std::string_view name);
[[nodiscard]] ExitCode exit_code(Verdict verdict);

}  // namespace stepleak
