// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/sources/cpp_container.hpp"

namespace stepleak {

/// Whether a test, by its opening parenthesis, asks for what is missing until it is made under it, and stays from then
/// on: "if (!mean_.defined()) mean_ = x.mean();", where nothing takes `mean_` away.
[[nodiscard]] bool is_of_what_is_missing(const TokenAt& test, const CppNames& names);

/// Whether an assignment, by the name that it gives a value, runs only under such a test, so that it takes the place of
/// nothing: "if (!mean_.defined()) { mean_ = x.mean(); var_ = x.var(); }".
[[nodiscard]] bool is_made_lazily(const TokenAt& name, const CppNames& names);

}  // namespace stepleak
