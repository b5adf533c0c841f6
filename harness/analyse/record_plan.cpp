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

// A hold is seen where it ends; what ends less than twice in the second half of the run cannot be waited for.
std::int64_t hold_of(const Trace& trace, const Trends& trends, Device device) {
  std::int64_t hold = 1;
  for (const auto& holder : {device, kHost}) {
    for (const auto counter : {Counter::live_bytes, Counter::live_blocks}) {
      hold = std::max(hold, longest_hold(values_of(trace, {counter, holder}, trends.judged())));
    }
  }
  return hold;
}

}  // namespace

std::int64_t longest_hold(const std::vector<std::int64_t>& values) {
  std::int64_t longest = 1;
  std::int64_t last_fall = 0;
  int falls = 0;
  for (auto i = static_cast<std::int64_t>(values.size() / 2); i + 1 < static_cast<std::int64_t>(values.size()); ++i) {
    if (values[static_cast<std::size_t>(i + 1)] >= values[static_cast<std::size_t>(i)]) continue;
    if (falls++ > 0) longest = std::max(longest, i - last_fall);
    last_fall = i;
  }
  return longest;
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
    pass.planned_steps = std::max({kShortestRecord, 2 * blocks.period + 2, 2 * hold + 2});
    if (blocks.per_step > 0 && blocks.per_step < 1) {
      const auto four_events = static_cast<std::int64_t>(std::ceil(4 / blocks.per_step));
      pass.planned_steps = std::max(pass.planned_steps, four_events);
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
