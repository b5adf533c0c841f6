// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/scenario/scenario_list.hpp"

namespace stepleak {

/// What the scenarios of this build and of a folder declare, without running any of them: C++'s from the list
/// that the build wrote, Python's as their source says. `set_up` is empty. Throws a failure error that names the file.
[[nodiscard]] ScenarioList declared_scenarios(const std::string& folder);

}  // namespace stepleak
