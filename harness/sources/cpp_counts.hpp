// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/sources/cpp_reach.hpp"

namespace stepleak {

/// Whether an expression never has a value again that it had in an earlier step: a variable that outlives the steps and
/// that they only raise ("++step", "offset += length"), also as an argument, and as text ("id-" + std::to_string(n++)).
/// False where that is not known, as of a remainder, and of what is set back.
[[nodiscard]] bool is_counted(const CppFile& file, TokenRange expression, const CppStep& step, const CppNames& names);

}  // namespace stepleak
