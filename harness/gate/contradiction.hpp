// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/scenario/scenario.hpp"
#include "harness/trace/result.hpp"

namespace stepleak {

/// How a result contradicts the truth that its scenario declares (its verdict; of a leak, one of its kinds), as one
/// clause; empty where it does not. No baseline overrules it: that is a file which anyone may edit, and may be as old
/// as a detection that was lost.
[[nodiscard]] std::string contradiction_of(const Scenario& scenario, const Result& result);

}  // namespace stepleak
