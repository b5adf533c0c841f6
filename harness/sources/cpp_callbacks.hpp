// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/sources/cpp_container.hpp"

namespace stepleak {

/// What a call of something that is no function of the project's may run, by the last token of what is called: of
/// `record(loss)`, `handlers_["loss"](output)` and `(*callback)(output)`.
///
/// - A variable that a lambda is put into where it is declared: that lambda.
/// - A parameter: the lambdas and functions that callers give it.
/// - What is, or holds, a std::function or one of its kin (by their names, or a `using` for them): the project's
///   lambdas, and its functions that are handed on by their names, whose parameters are of the types that it is called
///   with. Which of them were put into it is not followed.
///
/// Empty: none, or it is not known, as of a pointer to a function.
[[nodiscard]] std::vector<CppBlockAt> called_back(const TokenAt& last, const CppNames& names);

}  // namespace stepleak
