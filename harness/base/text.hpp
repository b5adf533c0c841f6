// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace stepleak {

/// The text as UTF-8 that drives no terminal and that XML may hold, whatever bytes came from outside: '?' for each
/// control character (C0 but newline and tab, DEL, C1), and U+FFFD for each byte that is no part of UTF-8 (a cut
/// sequence, a lone surrogate) and for U+FFFE and U+FFFF.
[[nodiscard]] std::string printable(std::string_view text);

/// The same on one line: what stands in the middle of a line can begin no line of its own.
[[nodiscard]] std::string printable_line(std::string_view text);

}  // namespace stepleak
