// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "harness/sources/cpp_uses.hpp"
#include "harness/sources/value_flow.hpp"

namespace stepleak {

/// The test of another container's length that bounds this one, too, if anything does: one item is taken out of both
/// where that test holds, at most once for each that both were given before it ("order.push_front(key); if (found !=
/// index.end()) return; index.emplace(key, x); if (index.size() > 64) { index.erase(order.back()); order.pop_back();
/// }"), and nothing else takes any out. So this one never gets shorter, and what it is given without the other one
/// stays for good: full when the other one is, or never. Without the "return" a known key might take out what the list
/// has too many. None where the bound is no number that is known. `uses`: the container's.
[[nodiscard]] std::optional<LengthTest> test_of_partner(const CppFill& fill, const CppUses& uses, const CppStep& step,
                                                        const CppNames& names);

}  // namespace stepleak
