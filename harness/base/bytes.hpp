// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stepleak {

/// A size as a person reads it: "512 B", "10.0 KiB", "1.5 MiB"; binary units, a sign where negative.
[[nodiscard]] std::string format_bytes(double bytes);

/// Reads "512", "512B", "10K", "10KiB", "1.5GiB" (binary units). Throws a usage error.
[[nodiscard]] std::int64_t parse_bytes(std::string_view text);

}  // namespace stepleak
