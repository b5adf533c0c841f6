// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/sources/cpp_reach.hpp"
#include "harness/sources/value_flow.hpp"
#include "harness/trace/object_graph.hpp"

namespace stepleak {

/// What bounds the container of a fill, as the sources say: each place is read in which its name stands and may mean
/// it.
///
/// - bounded: a comparison of its length decides whether something is put in or taken out; with the number, where that
///   is a literal or a constant with one value in the project
/// - reset: it is cleared, assigned, resized or moved from by what a step can reach
/// - conditional: something is taken out of it by what a step can reach
/// - uncalled: the same, by functions to which no name leads from those of the step
/// - keyed: a map or a set that is asked before it is filled, or filled by a key that may come again
/// - unbounded: none of these, and each place is one that fills or reads it
/// - unknown: it goes where it cannot be followed (a reference, a pointer, a function that is not known), its
///   declaration was not found, or not all sources were read
///
/// `passed`: a test that is known to let it be filled (guard_of()).
[[nodiscard]] Structure structure_of(const CppFill& fill, const CppStep& step, const CppNames& names,
                                     const std::optional<TokenAt>& passed = {});

}  // namespace stepleak
