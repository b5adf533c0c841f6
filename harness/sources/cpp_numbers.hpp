// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "harness/sources/cpp_container.hpp"

namespace stepleak {

/// The number that stands at a place: a whole literal, a constant or a variable that is given one number in all of the
/// project, or a member that each object of its class is made with the same number of. -1: none of these.
[[nodiscard]] std::int64_t value_of(const CppNames& names, const TokenAt& at);

}  // namespace stepleak
