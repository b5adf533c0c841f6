// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/cli/reporting.hpp"
#include "harness/cli/target.hpp"
#include "harness/gate/baseline.hpp"

namespace CLI {
class App;
}

namespace stepleak {

/// One scenario of a gate with what it did and how that compares.
struct GateEntry {
  Result result;
  Baseline now;
  Comparison comparison;      ///< what contradicts the scenario's truth is worse, whatever the baseline says
  std::string contradiction;  ///< "it is leak, and the scenario says clean"; empty where it is as declared
  std::string others;         ///< the folder of scenarios that has a baseline by this name; empty: none but its own
  bool is_moved = false;      ///< its baseline says that the scenario was in a folder that is no more, or nothing of it
};

/// What gate and baseline update have in common: run scenarios, compare them with stored baselines.
struct GateOptions {
  RunOptions run;
  std::string suite = "*";
  std::string baseline_folder;  ///< empty: see baseline_folder_of()
  std::string scenario_folder;  ///< empty: see scenario_folder_of()
  std::string shard = "1/1";
  ReportOptions reports;  ///< of the gate alone
};

/// The baselines of the device's class. Throws a usage error where they can be in no such folder.
[[nodiscard]] BaselineStore store_of(const GateOptions& options);

/// Whether the baselines lie in the project that the scenarios are in, so that one which has no scenario is stale.
[[nodiscard]] bool are_of_one_project(const GateOptions& options);

/// What came of a gate's scenarios.
struct GateRun {
  std::vector<GateEntry> entries;
  std::vector<std::string> left_out;  ///< "mine_clean needs timm, which is not installed"
};

/// Says which scenarios were left out for what is not here, a line each.
void print_left_out(const GateRun& run, const ReportOptions& reports);

/// Runs and compares, printing one line a scenario. Entries of stored scenarios that are no more are appended
/// as gone, where the whole suite is run, but for those of other folders that are there and share the baselines.
/// Scenarios that a signal kept from their turn are left out. Throws what run_targets() and the store throw.
[[nodiscard]] GateRun run_gate(const GateOptions& options);

void add_gate_options(CLI::App& verb, GateOptions& options);

}  // namespace stepleak
