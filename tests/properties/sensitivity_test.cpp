// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// What must change a verdict: a leak that the limit line says would be caught.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>

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

SyntheticProgram also(const SyntheticProgram& program, const std::function<void(SyntheticMemory&)>& leak) {
  auto leaking = program;
  leaking.step = [=](std::int64_t step, SyntheticMemory& memory) {
    program.step(step, memory);
    leak(memory);
  };
  return leaking;
}

std::int64_t floor_of(const Result& result, Counter counter) {
  return static_cast<std::int64_t>(std::ceil(result.limit.floors.at({counter})));
}

// What stands beside it may keep what is not exact from being decided, and never makes it clean.
RC_GTEST_PROP(LimitTest, ALeakOfTheHostHeapAboveItsFloorIsNotCalledClean, ()) {
  const auto program = program_of(*healthy_parts(kLongest), {});
  const SyntheticRun run{.sources = *any_sources(), .policy = any_policy()};
  const auto without = run_synthetic(program, run);
  RC_PRE(without.verdict == Verdict::clean);
  const auto bytes = *rc::gen::inRange<std::int64_t>(floor_of(without, Counter::heap_bytes) + 1, 1 << 20);
  const auto with = run_synthetic(also(program, [=](SyntheticMemory& memory) { memory.take_heap(bytes); }), run);
  RC_LOG() << bytes << " B of heap a step: " << told_of(with) << "\n";
  RC_ASSERT(with.verdict != Verdict::clean || floor_of(with, Counter::heap_bytes) >= bytes);
}

RC_GTEST_PROP(LimitTest, ALeakOfTheHostHeapAboveItsFloorIsFoundWhereNothingElseMoves, ()) {
  const SyntheticRun run{.sources = *any_sources(), .policy = any_policy()};
  const auto program = program_of({}, {});
  const auto floor = floor_of(run_synthetic(program, run), Counter::heap_bytes);
  const auto bytes = *rc::gen::inRange<std::int64_t>(floor + 1, 1 << 20);
  const auto with = run_synthetic(also(program, [=](SyntheticMemory& memory) { memory.take_heap(bytes); }), run);
  RC_LOG() << bytes << " B of heap a step: " << told_of(with) << "\n";
  RC_ASSERT(with.verdict == Verdict::leak);
}

RC_GTEST_PROP(LimitTest, ALeakOfPythonObjectsFromTheirFloorOnFlipsCleanToLeakAndBack, ()) {
  constexpr std::int64_t kLeastBytes = 64;  // of an object
  const auto program = program_of(*healthy_parts(kLongest), {});
  const SyntheticRun run{.policy = any_policy()};
  const auto without = run_synthetic(program, run);
  RC_PRE(without.verdict == Verdict::clean);
  const auto objects = *rc::gen::inRange<std::int64_t>(floor_of(without, Counter::python_objects), 1000);
  const auto leaking = also(program, [=](SyntheticMemory& memory) {
    memory.take_objects(objects);
    memory.take_heap(objects * kLeastBytes);
  });
  const auto with = run_synthetic(leaking, run);
  RC_LOG() << objects << " objects a step: " << told_of(with) << "\n";
  RC_ASSERT(with.verdict == Verdict::leak);
}

}  // namespace
}  // namespace stepleak
