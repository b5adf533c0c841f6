// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/trace/result.hpp"

namespace stepleak {

/// One result of several ranks: the worst verdict of all with its reason, and the findings of all, each with its rank,
/// those of the own rank first. A pure function. `by_rank`: what each rank came to, the own rank's included.
[[nodiscard]] Result joint_result(Result own, int own_rank, const std::vector<Result>& by_rank);

}  // namespace stepleak
