// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Run by the build: writes what the C++ scenarios declare, so that `stepleak list` need not load them, and torch with
// them.

#include <cstdio>

#include "harness/scenario/scenario_list.hpp"

int main() { std::puts(stepleak::to_json({stepleak::ScenarioRegistry::instance().all(), {}}).c_str()); }
