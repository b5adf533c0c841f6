// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/errors.hpp"
#include "harness/trace/finding.hpp"
#include "harness/trace/trace.hpp"

namespace stepleak {

enum class Verdict : std::uint8_t { clean, leak, inconclusive, failure };

[[nodiscard]] std::string_view to_string(Verdict verdict);
[[nodiscard]] std::optional<Verdict> parse_verdict(std::string_view name);
[[nodiscard]] ExitCode exit_code(Verdict verdict);

/// The smallest leak that a run would have caught.
struct Limit {
  std::int64_t bytes_per_step = 0;  ///< smallest growth of each step
  std::int64_t period_steps = 0;    ///< longest period: one leak every so many steps
};

/// A live block, or all that were allocated from one place.
struct LiveMemory {
  std::int64_t bytes = 0;
  std::int64_t blocks = 1;
  std::int64_t first_step = 0;  ///< oldest birth; 0: in the set-up
  std::int64_t last_step = 0;   ///< newest birth
  std::vector<Frame> where;     ///< the user's frames; empty where no stack was recorded
};

/// What a device held after a step ran out of its memory; each list has ten entries at most.
struct MemoryEvidence {
  std::int64_t bytes = 0;   ///< of all live blocks
  std::int64_t blocks = 0;  ///< how many there were; 0: none was seen
  std::vector<LiveMemory> largest;
  std::vector<LiveMemory> newest;
  std::vector<LiveMemory> by_stack;  ///< of the blocks born in steps whose stacks were recorded; most bytes first
};

/// Why a run has no verdict: what happened, and the evidence that was kept.
struct RunFailure {
  std::string what;  ///< "the step raised RuntimeError: ...", "killed by SIGSEGV in step 17"
  std::string remedy;
  std::string output_tail;  ///< last lines that the step printed
  MemoryEvidence memory;    ///< where memory ran out
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
  std::vector<std::string> notes;
  std::optional<RunFailure> failure;
  std::map<std::string, std::string> conditions;
  std::map<std::string, std::int64_t> steady;  ///< settled level of each exact ledger, by series name
  Trace trace;                                 ///< series only; survivors do not leave the process
};

}  // namespace stepleak
