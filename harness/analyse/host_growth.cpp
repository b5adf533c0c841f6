// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/analyse/host_growth.hpp"

#include <algorithm>

#include "harness/analyse/gains.hpp"

namespace stepleak {
namespace {

// What an exact ledger sees to be kept has host memory of its own: tensors, nodes, shared and page-locked blocks.
bool is_exactly_growing(const Trace& trace, const Trends& trends) {
  return std::any_of(trace.ledgers().begin(), trace.ledgers().end(), [&](const Ledger& ledger) {
    const auto& key = ledger.key();
    const bool is_counted = key.counter == Counter::live_blocks || key.counter == Counter::live_nodes ||
                            key.counter == Counter::live_tensors || key.counter == Counter::shared_bytes ||
                            key.counter == Counter::pinned_bytes;
    return is_counted && key.moment == Moment::after_collection && trends.of(key).is_growing();
  });
}

// Whether Python's objects have come to rest within the newest of the windows that their trend is of: the lowest of
// each tells where it begins. A tree that is split until it is fine enough grows in all four, and is done. Not where
// they are counted in few steps, between which they stand still for us.
bool have_objects_levelled(const Trace& trace, const Trends& trends) {
  const SeriesKey key{Counter::python_objects};
  const auto& trend = trends.of(key);
  const auto half = trend.window / 2;
  if (!trend.is_growing() || trend.period > 0 || half == 0) return false;
  const auto last = trends.judged().last;
  const auto steps = trace.ledger(key)->steps();
  const auto read = std::count_if(steps.begin(), steps.end(),
                                  [&](std::int64_t step) { return last - trend.window < step && step <= last; });
  if (read < trend.window) return false;
  const auto values = values_of(trace, key, trends.judged());
  const auto lowest_of_last = [&](std::int64_t steps) { return *std::min_element(values.end() - steps, values.end()); };
  const auto rise = static_cast<double>(lowest_of_last(half) - lowest_of_last(trend.window));
  return rise < kSlowestPart * trend.per_step * static_cast<double>(half);
}

double bytes_gained_a_step(const Recording& recording, const Holder& holder) {
  const auto bytes = static_cast<double>(holder.gained_bytes + holder.gained_block_bytes);
  return bytes / static_cast<double>(std::max<std::int64_t>(1, recording.steps));
}

bool is_heavy(const Recording& recording, const Holder& holder) {
  return holder.is_weighed && bytes_gained_a_step(recording, holder) >= kHeapFloorBytes;
}

// Whether the same statement filled it as fast when half as many steps had run. What fills slows down, or is full.
bool is_filled_as_before(const Trace& trace, const Recording& recording, const Holder& holder) {
  constexpr double kAsFast = 0.9;
  const auto is_same = [&](const Recording& earlier, const Holder& other) {
    return other.kept_by.is_at(holder.kept_by) && other.gained_entries >= kFewestEntries &&
           gained_rate(recording, holder) >= kAsFast * gained_rate(earlier, other);
  };
  return std::any_of(trace.recordings().begin(), trace.recordings().end(), [&](const Recording& earlier) {
    return 2 * earlier.last_step() <= recording.pass.first_step &&
           std::any_of(earlier.holders.begin(), earlier.holders.end(),
                       [&](const Holder& other) { return is_same(earlier, other); });
  });
}

// Whether the newest record pass says so of a container that gained so much that it is a leak by itself, and is neither
// bounded nor emptied time and again.
bool is_kept_as_before(const Trace& trace) {
  if (trace.recordings().empty()) return false;
  const auto& newest = trace.recording();
  return std::any_of(newest.holders.begin(), newest.holders.end(), [&](const Holder& holder) {
    const auto type = holder.structure.type;
    const bool may_go_on = has_no_known_end(holder.structure) || type == StructureType::keyed;
    return may_go_on && is_heavy(newest, holder) && is_filled_as_before(trace, newest, holder);
  });
}

// Whether a container that nothing ends gained so much in a record pass that it is a leak by itself: beside it the heap
// rises ever more slowly while a cache of a library's fills, and goes on when that is full.
bool is_kept_without_end(const Trace& trace) {
  return is_kept_as_before(trace) ||
         std::any_of(trace.recordings().begin(), trace.recordings().end(), [](const Recording& recording) {
           return std::any_of(recording.holders.begin(), recording.holders.end(), [&](const Holder& holder) {
             return never_ends(holder.structure) && holder.gained_entries >= kFewestEntries &&
                    is_heavy(recording, holder);
           });
         });
}

}  // namespace

double mapped_bytes_lost(const Trends& trends) {
  const auto& mapped = trends.of({Counter::mapped_bytes});
  if (!mapped.is_growing()) return 0;
  // Of a thread's stack hardly anything is touched. What is taken by the process moves, and need not rise evenly.
  const auto& resident = trends.resident();
  const bool is_rising = !resident.is_flat() && resident.per_step > 0;
  return is_rising ? std::min(mapped.per_step, resident.per_step) : mapped.per_step;
}

HostGrowth host_growth_of(const Trace& trace, const Trends& trends) {
  HostGrowth growth{.heap = trends.heap(),
                    .objects = trends.of({Counter::python_objects}),
                    .blocks = trends.of({Counter::python_blocks}),
                    .mapped = trends.of({Counter::mapped_bytes})};
  const bool is_heap_seen = trace.has({Counter::heap_bytes});
  const auto& supported = trends.supported_heap();
  const auto heap_decay = trends.decay_of({Counter::heap_bytes});
  const bool is_heap_decaying = heap_decay == Decay::over || (heap_decay != Decay::none && !is_kept_without_end(trace));
  // A heap that rises ever more slowly is not theirs.
  const bool is_heap_theirs = supported.is_growing() && !is_heap_decaying;
  const bool do_objects_go_on = growth.objects.is_growing() && !have_objects_levelled(trace, trends);
  const bool are_objects_heavy = do_objects_go_on && (is_heap_theirs || growth.objects.per_step >= kHeavyObjects);
  growth.is_witnessed = do_objects_go_on || is_exactly_growing(trace, trends);
  growth.is_leak = (growth.heap.is_growing() && !is_heap_decaying) ||
                   (growth.mapped.is_growing() && !trends.is_decaying({Counter::mapped_bytes})) ||
                   (growth.blocks.is_growing() && !trends.is_decaying({Counter::python_blocks})) || are_objects_heavy;
  const auto is_seen = [](const Trend& trend) { return trend.is_growing() && !trend.is_half_seen; };
  growth.is_seen = are_objects_heavy || is_seen(growth.heap) || is_seen(growth.mapped) || is_seen(growth.blocks);
  if (!growth.heap.is_growing() && supported.is_growing() && growth.objects.is_growing()) growth.heap = supported;
  // What is too light to be a leak where it grows is so where it still moves; a record pass moves it by a few.
  const bool are_objects_light = growth.objects.per_step < kHeavyObjects && (supported.is_flat() || is_heap_decaying);
  const bool are_objects_settled =
      !trace.has({Counter::python_objects}) || growth.objects.is_flat() || (are_objects_light && !are_objects_heavy);
  const bool is_process_settled = trends.resident().is_flat() || !trace.has({Counter::resident_bytes});
  const bool are_blocks_settled = growth.blocks.is_flat() || !trace.has({Counter::python_blocks});
  const bool is_mapped_settled = growth.mapped.is_flat() || !trace.has({Counter::mapped_bytes});
  const auto fades = [&](Counter counter) { return is_fading(trends.decay_of({counter})); };
  const bool is_heap_fading = is_heap_decaying && is_fading(heap_decay);
  growth.is_fading = is_heap_seen && are_objects_settled && (growth.heap.is_flat() || is_heap_fading) &&
                     (are_blocks_settled || fades(Counter::python_blocks)) &&
                     (is_mapped_settled || fades(Counter::mapped_bytes));
  growth.is_settled = (is_heap_seen ? growth.heap.is_flat() : is_process_settled) && are_objects_settled &&
                      are_blocks_settled && is_mapped_settled;
  return growth;
}

bool HostGrowth::are_objects_few() const { return objects.is_growing() && objects.per_step < kHeavyObjects; }

int holder_of_few_objects(const Recording& recording) {
  int found = -1;
  for (int index = 0; index < static_cast<int>(recording.holders.size()); ++index) {
    const auto& holder = recording.holders[static_cast<std::size_t>(index)];
    if (!(holder.gains_callbacks || is_heavy(recording, holder)) || holder.gained_entries < kFewestEntries) continue;
    if (!has_no_known_end(holder.structure)) continue;
    // What one of the callbacks keeps leads through them, too.
    if (holder.held == holder.container) return index;
    if (found < 0) found = index;
  }
  return found;
}

int holder_of_few_objects(const Recording& recording, const HostGrowth& growth) {
  return growth.are_objects_few() ? holder_of_few_objects(recording) : -1;
}

double bytes_of_few_objects(const Recording& recording, int holder) {
  return holder < 0 ? 0 : bytes_gained_a_step(recording, recording.holders.at(static_cast<std::size_t>(holder)));
}

}  // namespace stepleak
