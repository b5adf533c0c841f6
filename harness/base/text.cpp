// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/base/text.hpp"

#include <algorithm>
#include <cstddef>

namespace stepleak {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

/// A character of UTF-8 at the beginning of a text; `size` 0: there is none.
struct Character {
  char32_t code = 0;
  std::size_t size = 0;
};

std::size_t size_of(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

Character first_of(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const auto size = size_of(first);
  if (size == 0 || size > text.size()) return {};
  if (size == 1) return {first, 1};
  char32_t code = first & (0x7fU >> size);
  for (const char byte : text.substr(1, size - 1)) {
    if ((static_cast<unsigned char>(byte) & 0xc0U) != 0x80) return {};
    code = code << 6U | (static_cast<unsigned char>(byte) & 0x3fU);
  }
  // Shorter sequences say the same: what looks for one of them would be passed by.
  const bool is_overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  return is_overlong || is_surrogate || code > 0x10ffff ? Character{} : Character{code, size};
}

bool is_control(char32_t code) {
  return (code < 0x20 && code != U'\n' && code != U'\t') || (code >= 0x7f && code < 0xa0);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const auto character = first_of(text);
    if (character.size == 0 || character.code == 0xfffe || character.code == 0xffff) {
      shown += kReplacement;
    } else if (is_control(character.code)) {
      shown += '?';
    } else {
      shown += text.substr(0, character.size);
    }
    text.remove_prefix(std::max<std::size_t>(character.size, 1));
  }
  return shown;
}

std::string printable_line(std::string_view text) {
  auto line = printable(text);
  std::replace(line.begin(), line.end(), '\n', '?');
  return line;
}

}  // namespace stepleak
