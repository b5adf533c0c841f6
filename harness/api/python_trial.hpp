// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/api/options.hpp"
#include "harness/trace/run_record.hpp"

namespace stepleak {

/// Runs a Python step that leaks on with the statements that its findings advise: up to 34 steps for each, or as many
/// as a leak that is not in each step takes, within the steps and the time that the user allows, and half a minute.
/// Where another statement keeps the same, both are corrected. Finally all functions are as they were, which the
/// program's state is not: for a process that ends. A fix that cannot be tried (the statement is in a frame that runs
/// already, several ranks run together, the trial comes to nothing) has no trial. Call it without the GIL.
[[nodiscard]] std::vector<Trial> try_python_fixes(void* callable, bool takes_index, const RunRecord& record,
                                                  const Options& options);

}  // namespace stepleak
