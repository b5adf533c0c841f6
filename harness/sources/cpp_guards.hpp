// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/sources/cpp_reach.hpp"

namespace stepleak {

/// A test that may keep a statement from being run for good: around it, or left early before it, or the same around the
/// calls that lead to it. None where each test comes true again and again whatever happens: of what no step changes, or
/// by a remainder ("step % 50 == 0").
///
/// A test counts where it compares by order (a counter reaches its limit, a loss its target), where a step assigns one
/// of the variables in it, and where it asks whether something is there. The calls of the step itself are the
/// harness's.
[[nodiscard]] std::optional<TokenAt> guard_of(const TokenAt& statement, const CppStep& step, const CppNames& names);

}  // namespace stepleak
