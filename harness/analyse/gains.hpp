// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "harness/trace/recording.hpp"

namespace stepleak {

/// What grew in the recorded steps, in malloc's bytes, in small blocks of Python's own allocator and in torch's events,
/// streams and graphs.
struct Gain {
  std::int64_t bytes = 0;
  std::int64_t blocks = 0;
  std::int64_t cuda_objects = 0;
  bool is_weighed = true;  ///< else it is more
};

/// Of what a container gained in a record pass: one may be the first of its kind.
inline constexpr std::int64_t kFewestEntries = 2;

/// Whether a holder names what grew: a container, or the first link of a chain.
[[nodiscard]] bool is_of_growth(const Holder& holder);

/// The node that grew: its container, or the first link.
[[nodiscard]] int grown_of(const Holder& holder);

/// Entries that a holder's container gained by a step of the record pass. Of one that was found in the sources only
/// those are known which were born in a recorded step.
[[nodiscard]] double gained_rate(const Recording& recording, const Holder& holder);

/// What a holder's container gained, and with it those that lie in the same container or are filled by the same
/// statement: a list for each layer, of which none is the better part. `index`: into Recording::holders.
[[nodiscard]] Gain gain_together(const Recording& recording, int index);

}  // namespace stepleak
