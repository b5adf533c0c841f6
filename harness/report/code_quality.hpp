// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/report/problem.hpp"

namespace stepleak {

/// A code quality report as GitLab reads it: an issue at its line for each problem. Those without a place in the
/// repository are left out: GitLab knows issues of its files only.
[[nodiscard]] std::string to_code_quality(const std::vector<Problem>& problems);

}  // namespace stepleak
