// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analyse/trends.hpp"

namespace stepleak {

/// Host memory outside tensors, judged by ledgers that each see a part of it.
struct HostGrowth {
  Trend heap;     ///< malloc'ed bytes less tensors; noisy
  Trend objects;  ///< objects tracked by Python's collector; exact
  Trend blocks;   ///< of Python's own allocator, which the heap does not see; noisy
  Trend mapped;   ///< writable memory that others than malloc have mapped; noisy
  bool is_leak = false;
  bool is_seen = false;       ///< of a leak: what grows did so where it was read, and not over a record pass only
  bool is_witnessed = false;  ///< of a leak: something exact beside the heap says so, too
  bool is_fading = false;     ///< what is not settled rises ever more slowly, and still does: library caches that fill
  bool is_settled = false;    ///< neither can turn into a leak any more, as far as this run shows

  /// They grow, and are too few for a leak by their number.
  [[nodiscard]] bool are_objects_few() const;
};

/// A leak where the heap alone grows above kHeapFloorBytes a step, mapped memory above kMappedFloorBytes or Python's
/// blocks above kBlockFloor, or where
/// tracked objects grow exactly and are heavy: kSupportedFloorBytes of heap, or kHeavyObjects objects a step. A log of
/// one small record a step is neither. What rises ever more slowly is none: libraries keep a plan for each shape that
/// they meet; unless a container that nothing ends was seen to gain as much as the heap's floor. Where malloc tells
/// nothing, RSS that still grows, or objects that do, leave it open.
[[nodiscard]] HostGrowth host_growth_of(const Trace& trace, const Trends& trends);

/// Bytes a step of mapped memory that are lost: of what is mapped a step may touch a part only, as of a thread's stack.
/// 0 where it does not grow.
[[nodiscard]] double mapped_bytes_lost(const Trends& trends);

/// A container that gains what can be called or runs, or as many bytes a step as the heap's floor, of whichever
/// allocator; and of which nothing is known that bounds or empties it: its holder in the recording; -1: there is none.
[[nodiscard]] int holder_of_few_objects(const Recording& recording);

/// The same where few objects grow: a hook, a handler or a scheduler a step, or one large record, is no log of small
/// ones.
[[nodiscard]] int holder_of_few_objects(const Recording& recording, const HostGrowth& growth);

/// What that holder's container gained, in bytes a step of the recorded ones; 0 for -1.
[[nodiscard]] double bytes_of_few_objects(const Recording& recording, int holder);

/// Objects of the collector's that one such entry takes, by and large: a function, its cells, a dict of its variables.
inline constexpr double kObjectsOfCallback = 8;

/// pymalloc hides small objects from the heap ledger; four tracked objects weigh some 300 bytes.
inline constexpr double kHeavyObjects = 4;

}  // namespace stepleak
