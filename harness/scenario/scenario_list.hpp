// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/scenario/scenario.hpp"

namespace stepleak {

/// A scenario file that does not load: what it declares is not known.
struct BrokenFile {
  std::string file;
  std::string what;
  std::string output_tail{};  ///< where it ended or hung its process: the last lines that it printed
};

/// What scenario files declare, and those that do not load.
struct ScenarioList {
  std::vector<Scenario> scenarios;
  std::vector<BrokenFile> broken;
};

[[nodiscard]] std::vector<std::string> files_of(const std::vector<BrokenFile>& broken);

/// For another process. Without `set_up` and `output_tail`.
[[nodiscard]] std::string to_json(const ScenarioList& list);

/// Throws a failure error that names the scenario's file for a kind that there is not.
[[nodiscard]] ScenarioList scenario_list_from_json(std::string_view text);

}  // namespace stepleak
