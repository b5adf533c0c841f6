// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/trace/finding.hpp"
#include "harness/trace/holder_group.hpp"
#include "harness/trace/run_failure.hpp"
#include "harness/trace/survivor_group.hpp"
#include "harness/trace/trace.hpp"
#include "harness/trace/verdict.hpp"

namespace stepleak {

/// The smallest leak that a run would have caught.
struct Limit {
  std::int64_t bytes_per_step = 0;       ///< smallest growth of tensors in each step
  std::int64_t period_steps = 0;         ///< longest period: one leak every so many steps
  std::map<SeriesKey, double> floors{};  ///< by ledger that is not exact: the smallest growth a step, in its unit
};

/// What a device loses, all findings together, and how long that can go on.
struct Loss {
  Device device = kHost;
  double bytes_per_step = 0;    ///< tensors, graphs, copies and whatever else the process takes there
  std::int64_t full_after = 0;  ///< steps after which the device's memory is full at that rate; 0: not known
  bool is_least = false;        ///< of the host: its heap, where graphs and objects lie, had not been read often enough
};

/// What a run came to: the value that every reporter, baseline and front door is handed.
struct Result {
  std::string target;  ///< "train.py:step" or a scenario's name
  Device device = kHost;
  Verdict verdict = Verdict::inconclusive;
  std::string reason;  ///< one sentence; empty for a plain clean or leak
  std::int64_t steps = 0;
  double seconds = 0;
  Limit limit;
  std::vector<Finding> findings;
  std::vector<Verdict> rank_verdicts;     ///< of several ranks that ran together, by rank
  std::vector<Loss> losses;               ///< of a leak; the largest first
  std::vector<DeclaredBound> declared{};  ///< by the program; the fullest first
  std::vector<std::string> notes;
  std::optional<RunFailure> failure;
  std::map<std::string, std::string> conditions;
  std::map<std::string, std::int64_t> steady;  ///< settled level of each exact ledger, by series name
  std::vector<SurvivorGroup> survivors{};      ///< of the newest record pass, by stack
  std::vector<HolderGroup> held{};             ///< the same by holder
  Trace trace;
  bool is_interrupted = false;  ///< by the user (Ctrl-C): the front door passes that on
};

}  // namespace stepleak
