// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/trace/survivor.hpp"

namespace stepleak {

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

/// What ended a run early, and the evidence that was kept. Beside a verdict that stood before it, it is no more than
/// that.
struct RunFailure {
  std::string reason = "the step failed";  ///< in a few words
  std::string what;                        ///< "the step raised RuntimeError: ...", "killed by SIGSEGV in step 17"
  std::string remedy;
  std::string output_tail;  ///< last lines that the step printed
  MemoryEvidence memory;    ///< where memory ran out
  bool is_out_of_memory = false;
};

}  // namespace stepleak
