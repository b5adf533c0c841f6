// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analyse/trends.hpp"
#include "harness/trace/trace.hpp"

namespace stepleak {

/// What detectors are handed: a trace, its trends at the last look, and what the record pass after that look showed (an
/// empty recording where there was none). A view; all three outlive it.
struct Evidence {
  const Trace& trace;
  const Trends& trends;
  const Recording& recording;
};

/// The recording that tells of the last look: the newest of which some step is a proof. An empty one where no record
/// pass followed that look.
[[nodiscard]] const Recording& recording_after_look(const Trace& trace);

}  // namespace stepleak
