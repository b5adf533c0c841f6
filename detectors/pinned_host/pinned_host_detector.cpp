// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "detectors/pinned_host/pinned_host_detector.hpp"

#include <fmt/format.h>

#include "harness/analyse/device_growth.hpp"
#include "harness/analyse/suspects.hpp"
#include "harness/base/bytes.hpp"

namespace stepleak {
namespace {

bool is_pinned_evidence(const Recording& recording, const Survivor& survivor) {
  if (!is_old(recording, survivor)) return false;
  return survivor.is_pinned || survivor.handle == HandleType::pinned_memory;
}

}  // namespace

std::vector<Finding> PinnedHostDetector::detect(const Evidence& evidence) const {
  const auto trend = pinned_trend(evidence.trends);
  if (!trend.is_growing()) return {};
  Finding finding{.kind = kind()};
  finding.bytes_per_step = trend.per_step;
  finding.since_step = trend.since_step;
  finding.what = fmt::format("{} of page-locked host memory are taken every step since step {}",
                             format_bytes(trend.per_step), trend.since_step);
  const auto& recording = evidence.recording;
  const auto is_evidence = [&](const Survivor& s) { return is_pinned_evidence(recording, s); };
  add_suspects(recording, survivors_where(recording, is_evidence), finding);
  finding.accounts_for = {{Counter::pinned_bytes},
                          {Counter::live_tensors},
                          {Counter::heap_bytes},
                          {Counter::python_objects},
                          {Counter::python_blocks}};
  return {finding};
}

}  // namespace stepleak
