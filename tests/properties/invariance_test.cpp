// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// What must not change a verdict.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/properties/programs.hpp"

namespace stepleak {
namespace {

constexpr std::int64_t kLongest = 12;

std::vector<Leak> any_leaks() {
  if (!*rc::gen::arbitrary<bool>()) return {};
  return {{.bytes = *rc::gen::inRange<std::int64_t>(1, 1 << 20),
           .period = *rc::gen::inRange<std::int64_t>(1, kLongest),
           .phase = *rc::gen::inRange<std::int64_t>(0, kLongest)}};
}

RC_GTEST_PROP(VerdictInvarianceTest, AddressesChangeNothing, ()) {
  const auto program = program_of(*healthy_parts(kLongest), any_leaks());
  const auto sources = *any_sources();
  const auto addresses = *rc::gen::nonZero<std::uint64_t>();
  RC_ASSERT(told_of(run_synthetic(program, {.sources = sources})) ==
            told_of(run_synthetic(program, {.sources = sources, .addresses = addresses})));
}

RC_GTEST_PROP(VerdictInvarianceTest, TheOrderWithinAStepChangesNothing, ()) {
  const auto parts = *healthy_parts(kLongest);
  const auto leaks = any_leaks();
  const auto sources = *any_sources();
  const auto shuffle = *rc::gen::nonZero<std::uint64_t>();
  RC_ASSERT(told_of(run_synthetic(program_of(parts, leaks), {.sources = sources})) ==
            told_of(run_synthetic(program_of(parts, leaks, shuffle), {.sources = sources})));
}

RC_GTEST_PROP(VerdictInvarianceTest, WhatTheSetUpMadeChangesNothing, ()) {
  const auto program = program_of(*healthy_parts(kLongest), any_leaks());
  const auto sources = *any_sources();
  const auto set_up = *rc::gen::inRange<std::int64_t>(1, std::int64_t{1} << 40);
  RC_ASSERT(told_of(run_synthetic(program, {.sources = sources})) ==
            told_of(run_synthetic(program, {.sources = sources, .set_up = set_up})));
}

RC_GTEST_PROP(VerdictInvarianceTest, ALongerWarmUpChangesNoVerdict, ()) {
  const auto program = program_of(*healthy_parts(kLongest), any_leaks());
  const auto sources = *any_sources();
  const auto warm_up = *rc::gen::inRange<std::int64_t>(1, 33);
  const auto sooner = run_synthetic(program, {.sources = sources});
  const auto later = run_synthetic(after_warm_up(program, warm_up), {.sources = sources});
  RC_ASSERT(sooner.verdict == later.verdict);
}

}  // namespace
}  // namespace stepleak
