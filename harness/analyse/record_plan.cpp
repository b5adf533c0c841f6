// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/analyse/record_plan.hpp"

#include <algorithm>
#include <cmath>

#include "harness/analyse/host_growth.hpp"

namespace stepleak {
namespace {

constexpr std::int64_t kLongestRecord = 256;

// Of every so-many-th step four that prove, and the last.
constexpr std::int64_t kRecordedSteps = 5;

// The heap is read too rarely to tell the period of what leaks in it, and stacks are captured from the third time on:
// so often a step of seven comes in these. A longer pass leaves too few readings of the heap around it
// (docs/calibration.md: from 26 steps on, library plans are called a leak). Where Python keeps it, its container tells
// sooner.
constexpr std::int64_t kHeapRecord = 22;

// Over the second half: the most steps from one end of a stretch to the next; 1 where fewer than two end.
template <typename IsEnd>
std::int64_t longest_stretch(const std::vector<std::int64_t>& values, const IsEnd& is_end) {
  std::int64_t longest = 1;
  std::int64_t last_end = 0;
  int ends = 0;
  for (auto i = values.size() / 2; i + 1 < values.size(); ++i) {
    if (!is_end(values[i], values[i + 1])) continue;
    const auto end = static_cast<std::int64_t>(i);
    if (ends++ > 0) longest = std::max(longest, end - last_end);
    last_end = end;
  }
  return longest;
}

// A hold is seen where it ends; what ends less than twice in the second half of the run cannot be waited for.
// What a task keeps for good as it begins may hide what it frees of the last one: a task is also as long as the ledger
// takes to repeat, and lasts where the ledger stands still.
std::int64_t hold_of(const Trace& trace, const Trends& trends, const std::vector<Device>& growing, Device watched) {
  std::int64_t hold = 1;
  for (const auto& device : growing) {
    const SeriesKey blocks{Counter::live_blocks, device};
    hold = std::max({hold, trends.of(blocks).period, longest_rest(values_of(trace, blocks, trends.judged()))});
  }
  for (const auto& holder : {watched, kHost}) {
    for (const auto counter : {Counter::live_bytes, Counter::live_blocks}) {
      hold = std::max(hold, longest_hold(values_of(trace, {counter, holder}, trends.judged())));
    }
  }
  return hold;
}

// Of the watched device and the host, which a step of a GPU fills as well: those whose blocks grow, else the first.
std::vector<Device> growing_devices(const Trends& trends, Device watched) {
  std::vector<Device> growing;
  for (const auto& device : {watched, kHost}) {
    const auto is_known = !growing.empty() && growing.front() == device;
    if (!is_known && trends.of({Counter::live_blocks, device}).is_growing()) growing.push_back(device);
  }
  if (growing.empty()) growing.push_back(watched);
  return growing;
}

}  // namespace

std::int64_t longest_hold(const std::vector<std::int64_t>& values) {
  return longest_stretch(values, [](auto before, auto after) { return after < before; });
}

std::int64_t longest_rest(const std::vector<std::int64_t>& values) {
  return longest_stretch(values, [](auto before, auto after) { return after != before; });
}

Pass plan_record(const Trace& trace, const Trends& trends, Device watched, std::int64_t stride,
                 std::int64_t most_steps) {
  const auto growing = growing_devices(trends, watched);
  const auto hold = hold_of(trace, trends, growing, watched);
  Pass pass{.type = PassType::record,
            .young_steps = hold > 1 ? hold + 1 : 2,
            .records_heap = trends.heap().is_growing() || trends.of({Counter::mapped_bytes}).is_growing()};
  const bool is_any_growing = std::any_of(growing.begin(), growing.end(), [&](Device device) {
    return trends.of({Counter::live_blocks, device}).is_growing();
  });
  const auto is_in_every_step = [&](Device device) {
    const auto& blocks = trends.of({Counter::live_blocks, device});
    return blocks.is_growing() && blocks.period == 1 && blocks.per_step >= 1;
  };
  if (stride > 1 && hold == 1 && std::all_of(growing.begin(), growing.end(), is_in_every_step)) {
    pass.planned_steps = (kRecordedSteps - 1) * stride + 1;
    pass.stride = stride;
  } else {
    const bool is_heap_alone = pass.records_heap && !is_any_growing && !trace.facts().has_python;
    pass.planned_steps = std::max(is_heap_alone ? kHeapRecord : kShortestRecord, 2 * hold + 2);
    for (const auto& device : growing) {
      const auto& blocks = trends.of({Counter::live_blocks, device});
      // Two events that prove, beside those that are too young to; one in each half of the pass where that alone tells
      // of graphs.
      const std::int64_t periods = trace.has({Counter::live_nodes}) ? 2 : 3;
      if (blocks.period > 1) {
        pass.planned_steps = std::max(pass.planned_steps, periods * blocks.period + pass.young_steps);
      }
      const auto a_step = blocks.per_step;
      if (a_step <= 0 || a_step >= 1) continue;
      const auto four_events = static_cast<std::int64_t>(std::ceil(4 / a_step));
      pass.planned_steps = std::max(pass.planned_steps, four_events + pass.young_steps);
    }
    // A graph that gets longer once in so many steps is told from one that is kept by a pass that sees it twice.
    const auto& nodes = trends.of({Counter::live_nodes});
    if (nodes.is_growing() && nodes.period > 1) {
      pass.planned_steps = std::max(pass.planned_steps, 2 * nodes.period + pass.young_steps);
    }
    const auto host = host_growth_of(trace, trends);
    if (host.objects.is_growing() && !is_any_growing) {
      // Of those that weigh little two in each half of the steps, be they callbacks.
      const auto& objects = host.objects;
      const auto steps = static_cast<std::int64_t>(std::ceil(4 * kObjectsOfCallback / objects.per_step));
      const bool are_light = host.are_objects_few() && !host.is_leak;
      const auto periods = (are_light ? 4 : 2) * objects.period;
      if (objects.period > 1) pass.planned_steps = std::max(pass.planned_steps, periods + pass.young_steps);
      if (objects.period <= 1 && are_light) pass.planned_steps = std::max(pass.planned_steps, steps);
    }
    pass.planned_steps = std::min(pass.planned_steps, kLongestRecord);
  }
  if (pass.planned_steps > most_steps) {
    pass.planned_steps = most_steps;
    pass.stride = 1;
  }
  // A hold that is longer than the pass would leave nothing that proves.
  if (2 * pass.young_steps > pass.planned_steps) pass.young_steps = 2;
  return pass;
}

}  // namespace stepleak
