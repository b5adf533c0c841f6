// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/report/problem.hpp"

namespace stepleak {

/// SARIF 2.1.0, as code scanning reads it: a result at its line for each problem. One without a place is a notification
/// of the run instead: GitHub refuses a file in which any result has none.
[[nodiscard]] std::string to_sarif(const std::vector<Problem>& problems, const SourceTree& tree);

}  // namespace stepleak
