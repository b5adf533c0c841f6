// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/api/options.hpp"
#include "harness/trace/policy.hpp"

namespace stepleak {

/// Throws a usage error where no verdict is possible within the steps that are asked for.
void check_steps(const Options& options);

/// How many steps a verdict needs under these options. Throws a usage error for an unknown effort.
[[nodiscard]] Policy policy_of(const Options& options);

/// How far an undecided run goes on; 0: no further than its policy's budget. So it is where the user said how many
/// steps it may take, or that it is to be quick.
[[nodiscard]] std::int64_t most_steps_of(const Options& options);

}  // namespace stepleak
