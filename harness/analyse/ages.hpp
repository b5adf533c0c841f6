// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "harness/trace/trace.hpp"

namespace stepleak {

/// What the births of the blocks that live at the looks say, beside the trend of their bytes. Pure functions; a device
/// without known births says nothing.

/// Blocks born in these steps that still live; -1 where births are not known.
[[nodiscard]] std::int64_t blocks_alive_of(const Trace& trace, Device device, StepRange births);

/// Blocks born in the second quarter of the judged steps that still live; -1 where births are not known. What a
/// container of fewer than half of them replaces is younger, and what was made once is older.
[[nodiscard]] std::int64_t middle_aged_blocks(const Trace& trace, Device device, StepRange judged);

/// Whether blocks die that had lived for long: of those that lived at an earlier look, half as far, and were born there
/// between the first eighth and the last quarter, more than a third are gone by now. Requests that stay for hundreds of
/// steps, and a buffer whose entries are replaced at random, do that; a leak never.
[[nodiscard]] bool are_old_dying(const Trace& trace, Device device, StepRange judged);

/// Whether any block dies that had lived for long, as above: something takes old ones out of what keeps them.
[[nodiscard]] bool is_any_old_dying(const Trace& trace, Device device, StepRange judged);

/// How many blocks that were made before the second step have been freed since; -1 where births are not known. Where as
/// many of later steps stay, live bytes are flat, or fall, whether a full buffer takes these in their place, or a queue
/// of the set-up is used up beside what leaks.
[[nodiscard]] std::int64_t set_up_blocks_freed(const Trace& trace, Device device);

/// Whether what was added to live bytes in the middle half of the judged steps is still alive, in the blocks that were
/// born there. Of a buffer that is made anew only the newest is alive, however large.
[[nodiscard]] bool is_growth_of_all_ages(const Trace& trace, Device device, StepRange judged);

/// Steps in which half or more of all blocks that had been collected since the one before (eight at least) were dropped
/// at once: a list that is cleared.
[[nodiscard]] std::vector<std::int64_t> clearings_of(const Trace& trace, Device device, StepRange judged);

/// How often half as many blocks as at the first clearing, or more, were dropped at once, that one included. More often
/// than there were clearings where what leaks beside the list outweighs what is cleared.
[[nodiscard]] std::int64_t drops_like_a_clearing(const Trace& trace, Device device, StepRange judged);

/// Whether of both of the last two stretches from one clearing to the next something outlived the last clearing, which
/// left more blocks than the one before: it should have been cleared too. (Of the newest alone something may wait to be
/// replaced: an example, a best result. While there were two clearings, that is not known, and the newest counts.)
[[nodiscard]] bool has_remainder(const Trace& trace, Device device, StepRange judged);

/// Whether something outlived the only clearing so far, or was made as it came: what the first steps made for good,
/// what the next clearing takes, or the first remainder.
[[nodiscard]] bool may_have_remainder(const Trace& trace, Device device, StepRange judged);

/// Whether as much is collected since the only clearing so far as before it, at half the pace at least: the next one
/// takes it, or there is none, as where what a warm-up gathered is dropped once. Not where the sources of what was
/// recorded say that steps clear it.
[[nodiscard]] bool is_gathering_again(const Trace& trace, Device device, StepRange judged);

}  // namespace stepleak
