// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/trace/policy.hpp"
#include "harness/trace/run_failure.hpp"
#include "harness/trace/trace.hpp"
#include "harness/trace/trial.hpp"

namespace stepleak {

/// How much memory a device has, and how much of it was in use when the run ended, in bytes.
struct DeviceCapacity {
  Device device = kHost;
  std::int64_t total_bytes = 0;
  std::int64_t used_bytes = 0;
};

/// All that a result rests on: what was asked, what was observed, how it ended. A plain value: the same record gives
/// the same result, on any machine.
struct RunRecord {
  std::string target;
  Device device = kHost;
  Policy policy;  ///< as it was in force at the end: a budget in time makes it shorter
  Trace trace;
  std::optional<RunFailure> failure;      ///< what ended the run early
  bool is_interrupted = false;            ///< the user did (Ctrl-C)
  std::vector<std::string> notes;         ///< what the observation lacks
  std::vector<DeclaredBound> declared{};  ///< bounds, by the program
  std::vector<Trial> trials{};            ///< of what its findings advise
  std::map<std::string, std::string> conditions;
  std::vector<DeviceCapacity> capacities;
  double seconds = 0;
};

}  // namespace stepleak
