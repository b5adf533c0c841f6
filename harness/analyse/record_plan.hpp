// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/analyse/trends.hpp"
#include "harness/trace/policy.hpp"

namespace stepleak {

/// How a suspicion is to be recorded: planned_steps, stride, young_steps and records_heap of the record pass. A pure
/// function.
///
/// Long enough for four of the leak's events, and for two whole periods of what the step frees again: a list that is
/// flushed at the end of an epoch, the model of a trial, the optimizer of a task. What was born in the last period is
/// young: it may die yet. Leak and period are those of the blocks that grow, be they the watched device's or the
/// host's. `stride`: of a leak in each step births are recorded in every so-many-th one only. At most `most_steps`
/// long.
[[nodiscard]] Pass plan_record(const Trace& trace, const Trends& trends, Device watched, std::int64_t stride,
                               std::int64_t most_steps);

/// The longest stretch of steps, over the second half of the values, that ends with a fall: how long the step holds
/// what it frees again. 1 where it falls after each step, or never.
[[nodiscard]] std::int64_t longest_hold(const std::vector<std::int64_t>& values);

/// The longest stretch, likewise, in which the values stand still. 1 where they move in each step, or hardly ever.
[[nodiscard]] std::int64_t longest_rest(const std::vector<std::int64_t>& values);

}  // namespace stepleak
