// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "harness/drive/script.hpp"
#include "harness/observe/flight_recorder.hpp"
#include "harness/trace/run_record.hpp"

namespace stepleak {

/// What a watched script told while it ran.
struct ScriptMessages {
  std::optional<RunRecord> record;  ///< of a watch that has ended: it outlives whatever became of the script
  std::string how;                  ///< how the steps were found: "212 calls of AdamW.step (train.py:41)"
  std::string why_none;             ///< where none were found: why, and what to do
};

/// Reads the lines that `stepleak/_messages.py` wrote; the last of a kind counts, an incomplete one does not. Throws a
/// failure error where a complete one cannot be read.
[[nodiscard]] ScriptMessages read_messages(const std::string& text);

/// What is left of a script that ended before its watch told anything: killed, crashed, or no step was found.
[[nodiscard]] RunRecord record_of_end(const FlightRecorder& recorder, const ScriptEnd& end);

}  // namespace stepleak
