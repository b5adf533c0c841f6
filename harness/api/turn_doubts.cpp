// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/api/turn_doubts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "harness/base/bytes.hpp"

namespace stepleak {
namespace {

constexpr SeriesKey kHeap{Counter::heap_bytes};

void withdraw(Result& result, std::string reason) {
  result.verdict = Verdict::inconclusive;
  result.findings.clear();
  result.losses.clear();
  result.reason = std::move(reason);
}

// Whether the better part of the heap that was seen to stay are the notes of torch's allocators on their blocks: what
// lies in a hole that another piece's block has left takes over the note on that one.
bool are_notes_on_blocks(const Trace& trace) {
  if (trace.recordings().empty()) return false;
  std::int64_t notes = 0;
  std::int64_t all = 0;
  for (const auto& survivor : trace.recording().survivors) {
    if (survivor.type != SurvivorType::heap || survivor.stack < 0) continue;
    all += survivor.bytes;
    if (survivor.library.starts_with("libc10")) notes += survivor.bytes;
  }
  return 2 * notes > all;
}

// Whether a growth is known by a difference only, as are the heap and what allocators keep around the memory that they
// hand out, and nobody saw a place of its own that makes it.
bool is_by_difference(const Finding& finding, const Trace& trace) {
  using enum Kind;
  const bool is_read = finding.kind == host_heap || finding.kind == stuck_free || finding.kind == fragmentation_drift;
  if (!is_read || !finding.holder.empty()) return false;
  return finding.where.empty() || (finding.kind == host_heap && are_notes_on_blocks(trace));
}

bool rests_on_differences(const Result& result, const Trace& trace) {
  return result.verdict == Verdict::leak &&
         std::all_of(result.findings.begin(), result.findings.end(),
                     [&](const Finding& finding) { return is_by_difference(finding, trace); });
}

// Where as much of the heap is given back in the group as this piece has added, and the group grows all the same, it is
// left open whose that is.
bool is_given_back(const PieceProbe& probe) {
  return probe.group() != nullptr && 2 * probe.group()->given_back(kHeap) >= probe.added(kHeap);
}

std::string given_back_text(const Result& result, const PieceProbe& probe) {
  return fmt::format(
      "{} of the host heap stay of every step at its end, something in its group gives back as much, and "
      "something keeps as much: run it alone",
      format_bytes(static_cast<double>(probe.added(kHeap)) / static_cast<double>(result.steps)));
}

// What one piece keeps for ever may have lain in another's free memory (a hole in a segment, the stack of a thread that
// has ended), so that the other takes more from the system each time.
std::string beside_text(const Result& result, std::vector<std::string> keepers) {
  constexpr std::size_t kMostNamed = 3;
  const auto more = keepers.size() - std::min(kMostNamed, keepers.size());
  keepers.resize(keepers.size() - more);
  if (more > 0) keepers.push_back(fmt::format("{} more", more));
  return fmt::format("{}, and others keep memory in the same process, which this may come from ({}): run this alone",
                     result.findings.front().what, fmt::join(keepers, ", "));
}

}  // namespace

void doubt(Result& result, const Trace& trace, const PieceProbe& probe,
           const std::function<std::vector<std::string>()>& keepers) {
  if (!rests_on_differences(result, trace)) return;
  if (is_given_back(probe)) return withdraw(result, given_back_text(result, probe));
  if (auto names = keepers(); !names.empty()) withdraw(result, beside_text(result, std::move(names)));
}

}  // namespace stepleak
