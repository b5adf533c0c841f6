// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/scenario/scenario_list.hpp"

namespace stepleak {

/// What the scenarios of this build and of a folder declare, for a list: C++'s from the list that the build wrote,
/// Python's as their source says, where it surely says all; else all files are imported, as scenarios_for_server()
/// does. `set_up` is empty. Throws a failure error that names the file.
[[nodiscard]] ScenarioList declared_scenarios(const std::string& folder, double timeout_seconds);

}  // namespace stepleak
