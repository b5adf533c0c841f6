// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/detect/detector.hpp"
#include "harness/judge/policy.hpp"
#include "harness/probes/probe.hpp"
#include "harness/runner/runner.hpp"
#include "harness/trace/result.hpp"

namespace stepleak {

/// Everything that a session is made of; all pointers outlive it.
struct SessionParts {
  std::string target;
  Device device = kHost;
  Policy policy;
  RunnerParts runner;
  std::vector<const Detector*> detectors;  ///< narrowest first
  std::vector<HolderSearch*> holder_searches;
  std::map<std::string, std::string> conditions;
  std::int64_t explain_stride = 1;  ///< of a leak in each step, every so-many-th one is recorded
};

/// The whole pipeline: repeat, observe, judge, explain. A step that throws gives a result with the verdict
/// `failure` and the trace up to then; errors of the harness are thrown.
[[nodiscard]] Result run_session(const SessionParts& parts);

}  // namespace stepleak
