// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// What must change a verdict: a leak that the limit line says would be caught.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/properties/programs.hpp"

namespace stepleak {
namespace {

constexpr std::int64_t kLongest = 40;

Policy any_policy() { return policy_of(*rc::gen::element(Effort::quick, Effort::standard)); }

RC_GTEST_PROP(LimitTest, ALeakOfEveryStepFlipsCleanToLeakAndBack, ()) {
  const auto parts = *healthy_parts(kLongest);
  const SyntheticRun run{.sources = *any_sources(), .policy = any_policy()};
  const auto without = run_synthetic(program_of(parts, {}), run);
  RC_PRE(without.verdict == Verdict::clean);
  const Leak leak{.bytes = without.limit.bytes_per_step + *rc::gen::inRange<std::int64_t>(0, 1 << 20)};
  const auto with = run_synthetic(program_of(parts, {leak}), run);
  RC_LOG() << told_of(with) << "\n";
  RC_ASSERT(with.verdict == Verdict::leak);
}

RC_GTEST_PROP(LimitTest, ALeakOfAnyPeriodUpToTheStatedOneIsNotCalledClean, ()) {
  const auto parts = *healthy_parts(kLongest);
  const SyntheticRun run{.sources = *any_sources(), .policy = any_policy()};
  const auto without = run_synthetic(program_of(parts, {}), run);
  RC_PRE(without.verdict == Verdict::clean);
  const auto period = *rc::gen::inRange<std::int64_t>(1, without.limit.period_steps + 1);
  const Leak leak{.bytes = *rc::gen::inRange<std::int64_t>(1, 1 << 20),
                  .period = period,
                  .phase = *rc::gen::inRange<std::int64_t>(0, period)};
  const auto with = run_synthetic(program_of(parts, {leak}), run);
  RC_LOG() << told_of(with) << "\n";
  RC_ASSERT(with.verdict != Verdict::clean || with.limit.period_steps < period);
}

RC_GTEST_PROP(LimitTest, ALeakOfAnyPeriodUpToTheStatedOneIsFoundWhereNothingElseMoves, ()) {
  const SyntheticRun run{.sources = *any_sources(), .policy = any_policy()};
  const auto stated = run_synthetic(program_of({}, {}), run).limit.period_steps;
  const auto period = *rc::gen::inRange<std::int64_t>(1, stated + 1);
  const Leak leak{.bytes = *rc::gen::inRange<std::int64_t>(1, 1 << 20),
                  .period = period,
                  .phase = *rc::gen::inRange<std::int64_t>(0, period)};
  RC_ASSERT(run_synthetic(program_of({}, {leak}), run).verdict == Verdict::leak);
}

}  // namespace
}  // namespace stepleak
