// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/trace/trace.hpp"

namespace stepleak {

/// Whether a ledger of the host rises only over steps that need an amount of memory at once which no step before them
/// did: over shapes that are new to the libraries, which compile or plan something for each and keep it.
/// A leak rises over the other steps as well.
///
/// Of the readings between which no such step lies, a seventh at most of those that chance would have it, of seven at
/// least, rise by more than `floor` bytes a step; and all of them together do not. False where the peak of a step is
/// not known.
[[nodiscard]] bool rises_with_new_peaks(const Trace& trace, const Ledger& ledger, StepRange judged, double floor);

}  // namespace stepleak
