// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/scenario/scenario.hpp"

namespace stepleak {

/// What the scenarios of this build and of a folder declare, without running any of them: C++'s from the list
/// that the build wrote, Python's as their source says. `set_up` is empty. Throws a failure error that names the file.
[[nodiscard]] std::vector<Scenario> declared_scenarios(const std::string& folder);

}  // namespace stepleak
