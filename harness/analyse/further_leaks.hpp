// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/analyse/evidence.hpp"
#include "harness/trace/finding.hpp"

namespace stepleak {

/// Where of a container that nothing ends only the host's memory was found to grow, and it keeps tensors of several
/// recorded steps as well, whose bytes have not settled: these stand in its place, as where a ledger tells of them.
/// They come now and then, and the heap shows what lies around them sooner. Whether there were any.
[[nodiscard]] bool tell_of_tensors(const Evidence& evidence, std::vector<Finding>& findings);

/// Leaks beside those that the findings name, which a ledger does not tell from them: its growth is theirs together. So
/// only what a record pass proves is one: a container that nothing in the sources bounds, or that only what no step
/// calls empties, which took entries in several of its steps, keeps tensors of its own or enough host memory, and lies
/// on no way to a container that is named. None where the holder of a finding is not known: it may be that. What
/// tensors of them take is no longer the first finding's of the same ledger. A pure function but for that.
[[nodiscard]] std::vector<Finding> further_leaks(const Evidence& evidence, std::vector<Finding>& findings);

/// What else took entries in several recorded steps, and keeps as much: of these containers nothing proves that they
/// go on, and the growth that the findings tell of may be theirs in part. `findings`: with the further ones.
[[nodiscard]] std::vector<Finding> unproven_beside(const Evidence& evidence, const std::vector<Finding>& findings);

}  // namespace stepleak
