// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/sources/cpp_reach.hpp"

namespace stepleak {

/// The only call in the functions of a step that gives gradients a graph, by its name: `loss.backward({}, true,
/// /*create_graph=*/true)`, or `torch::autograd::backward({loss}, {}, true, true)`. Such a gradient leads back to what
/// it is the gradient of (torch warns of it: "Using backward() with create_graph=True"). Nothing where there are
/// several, or where what is given is no literal.
[[nodiscard]] std::optional<TokenAt> call_making_graphs(const CppStep& step, const CppNames& names);

}  // namespace stepleak
