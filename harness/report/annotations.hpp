// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/report/problem.hpp"

namespace stepleak {

/// Workflow commands as GitHub Actions reads them in a job's log: `::error file=...,line=...,title=...::message`, one
/// line for each problem. What stands in a message can begin no command of its own.
[[nodiscard]] std::string to_annotations(const std::vector<Problem>& problems);

}  // namespace stepleak
