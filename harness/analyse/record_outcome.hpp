// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/analyse/evidence.hpp"
#include "harness/trace/finding.hpp"
#include "harness/trace/policy.hpp"

namespace stepleak {

/// What a record pass says of the leak that it was run for.
struct RecordOutcome {
  enum class Type : std::uint8_t {
    open,          ///< it went on, and what keeps it decides nothing: trend and ages do
    proven,        ///< it went on, in a container that nothing bounds
    contradicted,  ///< every exact ledger that had grown stood still, or of all births none stayed: it had stopped
    slowed,        ///< it went on by far less than before
    bounded,       ///< it went on, in a container that fills up to a known length
    filling,       ///< it went on, in one that something bounds or empties, at a time that is not known
    full,          ///< it went on in bytes alone, in one that holds as many as it may: their sizes vary
    caching,       ///< it went on in what a library keeps for each new shape
    withheld,      ///< it went on in garbage that the collector was kept from, by what had been set apart from it
    spreading,     ///< it went on in what the caching allocator keeps for each new CUDA stream
  };
  Type type = Type::open;
  std::string holder;          ///< bounded, filling, full: the container; caching: the library
  Structure structure;         ///< bounded, filling, full: what bounds it
  bool has_repeated = false;   ///< filling, bounded: some steps, now one, now another, asked for old keys only
  bool is_decaying = false;    ///< filling: ever more slowly
  bool are_old_dying = false;  ///< filling: something takes out what had lived for long
  bool was_emptied = false;    ///< bounded: it holds far fewer than it took so far
  std::int64_t bound = 0;      ///< bounded, full: the most that it holds
  std::int64_t held = 0;       ///< bounded: how many it held
  std::int64_t full_at = 0;    ///< bounded: the step by which it will be full at the rate so far
  double bytes_when_full = 0;  ///< bounded: what it will hold then, if all entries are like those of the recorded steps
  Device device = kHost;       ///< bounded: whose memory that is
  double nodes_added = 0;      ///< contradicted: autograd nodes by which the graph of each step is larger than the last
};

/// Reads a recording. A pure function. `findings`: what the detectors say of the same evidence.
[[nodiscard]] RecordOutcome outcome_of(const Evidence& evidence, const std::vector<Finding>& findings);

/// Whether what is to end the growth has had its time: a key that repeats, or a test that is not understood, all of the
/// budget, of a thousand steps at least. A line that empties the container may be reached as long as the run goes on,
/// and one that takes out what had lived for long is understood to keep it small some time.
[[nodiscard]] bool is_wait_over(const RecordOutcome& outcome, std::int64_t steps, const Policy& policy);

/// Whether the run then shows a leak, with that line beside it: no key came again. A line that some epoch may still
/// reach leaves it inconclusive.
[[nodiscard]] bool is_waited_for_in_vain(const RecordOutcome& outcome, std::int64_t steps, const Policy& policy);

/// Whether a finding says that nothing grows: sizes that vary, or tensors whose memory is another library's.
[[nodiscard]] bool says_nothing(const Finding& finding);

/// Whether a finding says that blocks or nodes stay, and of all that was born in the recorded steps none did; or that
/// the heap grows, of which nothing was seen, while tensors become more. It would stand before another that tells of
/// what did.
[[nodiscard]] bool is_refuted(const Evidence& evidence, const Finding& finding);

/// Whether a finding's container has a known end and got no entry in the recorded steps, so that only what takes the
/// place of old ones can have grown, while another's, of which no end is known, gained more bytes. It would stand
/// before that, and wait for it.
[[nodiscard]] bool is_outweighed(const Recording& recording, const Finding& finding,
                                 const std::vector<Finding>& findings);

/// Whether a record pass proves that a finding's container grows without a bound: nothing bounds it, or it passed the
/// bound that is declared, and survivors of two of its steps at least are in it; or, of host memory, it gained the
/// better part of what these left. So it does where survivors of two steps are in cycles to which nothing leads: a
/// collection has had its chance.
[[nodiscard]] bool is_proven(const Finding& finding);

}  // namespace stepleak
