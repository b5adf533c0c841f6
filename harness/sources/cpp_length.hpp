// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/sources/cpp_reach.hpp"

namespace stepleak {

/// Functions and methods that give a container's length.
inline constexpr std::array<std::string_view, 3> kLengths{"size", "length", "ssize"};

/// A comparison of a container's length that decides something about it.
struct LengthTest {
  TokenAt at;
  std::int64_t bound = -1;  ///< what it is compared with; -1: no number that is known
  /// It is asked to equal something, and nothing leaves where it does: "if (next == chunks.size())
  /// chunks.push_back(...)" adds one more whenever the last is in use.
  bool is_equal = false;
};

/// What comes of a length that the tokens from `first` to `last` of a file stand for: a comparison that puts something
/// in, takes something out or leaves, or whose outcome goes elsewhere; also of a variable that it is put into, and of
/// what a function returns; by what a step may run. None where it is only read: by a loop, an assertion, a log, or to
/// choose one of two numbers of which no more comes.
/// `container`: its name.
[[nodiscard]] std::optional<LengthTest> test_of_length(const CppFile& file, std::size_t first, std::size_t last,
                                                       const std::string& container, const CppStep& step,
                                                       const CppNames& names);

}  // namespace stepleak
