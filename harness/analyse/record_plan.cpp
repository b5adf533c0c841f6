// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/analyse/record_plan.hpp"

#include <algorithm>
#include <cmath>

namespace stepleak {
namespace {

constexpr std::int64_t kLongestRecord = 256;

// Of every so-many-th step four that prove, and the last.
constexpr std::int64_t kRecordedSteps = 5;

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
std::int64_t hold_of(const Trace& trace, const Trends& trends, Device device) {
  const SeriesKey blocks{Counter::live_blocks, device};
  auto hold = std::max<std::int64_t>(trends.of(blocks).period, 1);
  hold = std::max(hold, longest_rest(values_of(trace, blocks, trends.judged())));
  for (const auto& holder : {device, kHost}) {
    for (const auto counter : {Counter::live_bytes, Counter::live_blocks}) {
      hold = std::max(hold, longest_hold(values_of(trace, {counter, holder}, trends.judged())));
    }
  }
  return hold;
}

}  // namespace

std::int64_t longest_hold(const std::vector<std::int64_t>& values) {
  return longest_stretch(values, [](auto before, auto after) { return after < before; });
}

std::int64_t longest_rest(const std::vector<std::int64_t>& values) {
  return longest_stretch(values, [](auto before, auto after) { return after != before; });
}

Pass plan_record(const Trace& trace, const Trends& trends, Device device, std::int64_t stride,
                 std::int64_t most_steps) {
  const auto& blocks = trends.of({Counter::live_blocks, device});
  const auto hold = hold_of(trace, trends, device);
  Pass pass{.type = PassType::record, .young_steps = hold > 1 ? hold + 1 : 2};
  const bool is_in_every_step = blocks.is_growing() && blocks.period == 1 && blocks.per_step >= 1;
  if (is_in_every_step && stride > 1 && hold == 1) {
    pass.planned_steps = (kRecordedSteps - 1) * stride + 1;
    pass.stride = stride;
  } else {
    pass.planned_steps = std::max(kShortestRecord, 2 * hold + 2);
    if (blocks.per_step > 0 && blocks.per_step < 1) {
      const auto four_events = static_cast<std::int64_t>(std::ceil(4 / blocks.per_step));
      pass.planned_steps = std::max(pass.planned_steps, four_events + pass.young_steps);
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
