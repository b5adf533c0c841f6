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

}  // namespace stepleak
