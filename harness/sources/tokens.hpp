// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace stepleak {

/// One word or mark of a C++ source.
struct Token {
  enum class Type : std::uint8_t { name, number, text, mark };
  Type type = Type::mark;
  std::string_view text;  ///< in the source that was given
  int line = 0;           ///< counted from 1

  [[nodiscard]] bool is(std::string_view other) const { return text == other && type != Type::text; }
  [[nodiscard]] bool is_name() const { return type == Type::name; }
};

/// Whether a word is in a list.
template <std::size_t N>
[[nodiscard]] bool is_one_of(std::string_view text, const std::array<std::string_view, N>& texts) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

/// The words and marks of a C++ source, without comments and preprocessor lines. Literals of text are one token each.
/// What does not end (a comment, a literal) ends with the source; nothing is an error. `>>` is two tokens, since it
/// may close two templates. The tokens point into `source`.
[[nodiscard]] std::vector<Token> tokens_of(std::string_view source);

/// The names in what a source's macros are defined as: "clear_kept" and "kept" of `#define clear_kept() kept.clear()`.
[[nodiscard]] std::vector<std::string_view> macro_names_of(std::string_view source);

/// What a source includes: "models/net.hpp" of `#include "models/net.hpp"` and of `#include <models/net.hpp>`; empty
/// for each of which a macro says what it is, and for a module. Those in comments and in branches that are not compiled
/// are among them.
[[nodiscard]] std::vector<std::string_view> includes_of(std::string_view source);

}  // namespace stepleak
