// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "harness/trace/trace.hpp"

namespace stepleak {

/// The steps at which the harness does work of its own: a record pass begins, or CUPTI comes in.
[[nodiscard]] std::vector<std::int64_t> own_work_of(const Trace& trace);

/// What the harness's own work leaves in a ledger of the whole process is no step's: over it the ledger is taken to
/// have gone on as it did before, and so while it falls behind that: what was recorded goes by and by, as a queue
/// lets go of it. A fall such as there was before is the step's, and so is one by about what it rose by: an epoch
/// may end there. Blocks of Python's allocator go on step by step, since a ledger that is held for so long looks as
/// if it paused; the heap's bytes, of which few steps tell too little, do not.
[[nodiscard]] Ledger without_own_work(const Ledger& ledger, const std::vector<std::int64_t>& own_steps);

/// Whether it has risen by less than its floor since the harness's own last work, and that for half of the steps:
/// over such work it is not known when it rose, and what rose by then may lie in any of the windows. `floor`: a step.
[[nodiscard]] bool has_rested_since(const std::vector<std::int64_t>& own_steps, const Ledger& ledger, StepRange judged,
                                    double floor);

}  // namespace stepleak
