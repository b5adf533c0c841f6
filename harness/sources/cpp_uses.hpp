// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "harness/sources/cpp_length.hpp"
#include "harness/sources/value_flow.hpp"

namespace stepleak {

/// A place where something is taken out of a container.
struct CppRemoval {
  TokenAt at;
  bool is_emptying = false;  ///< all of it: it is cleared, assigned or moved from
};

/// What the sources do with a container, under its own name and others: references, parameters of the project's
/// functions, members that are references.
struct CppUses {
  std::vector<CppRemoval> removals;
  std::optional<LengthTest> test;  ///< of its length; one with a number where there is one
  std::vector<TokenAt> asked;      ///< a map or a set: where it is looked up
  bool escapes = false;            ///< it goes where it cannot be followed
};

/// Methods that take out of a container what is in it, some or all. Also of what holds an object: "session.reset()".
[[nodiscard]] bool is_taking_out(std::string_view method);
[[nodiscard]] bool is_emptying(std::string_view method);
/// Functions that leave nothing, or something else, in what they are given: std::move, std::swap, std::exchange.
[[nodiscard]] bool is_moving(std::string_view function);

/// Reads each place in the project where a name stands that may mean the container. `type`: how it is filled: of what
/// holds containers that grow, what is done with one of these counts.
[[nodiscard]] CppUses uses_of(const CppContainer& container, CppFill::Type type, const CppStep& step,
                              const CppNames& names);

}  // namespace stepleak
