// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "harness/analyse/decision.hpp"
#include "harness/analyse/detector.hpp"
#include "harness/analyse/record_outcome.hpp"
#include "harness/trace/result.hpp"
#include "harness/trace/run_record.hpp"

namespace stepleak {

/// What a trace shows at its last look, as the session asks it while a run goes on.
struct Judgement {
  Decision decision;
  std::vector<Finding> findings;         ///< of a leak, the narrowest cause first
  RecordOutcome outcome;                 ///< where a record pass followed the look
  std::shared_ptr<const Trends> trends;  ///< of all ledgers at the look; null before the first one

  /// Whether what looks like a leak may still be something that fills.
  [[nodiscard]] bool is_too_soon() const { return decision.needs_proof && outcome.type == RecordOutcome::Type::open; }
};

/// Judges a trace at its last look. A pure function.
[[nodiscard]] Judgement judge(const Trace& trace, const Policy& policy, const std::vector<const Detector*>& detectors);

/// What a run came to. A pure function of its record: a stored run gives the same result on any machine.
///
/// The verdict is that of the last look. What ended the run after a verdict stood is a note beside it; before that it
/// makes a failure, except where memory ran out and the ledgers up to then prove a leak.
[[nodiscard]] Result conclude(const RunRecord& record, const std::vector<const Detector*>& detectors);

}  // namespace stepleak
