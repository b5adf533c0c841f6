// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/gate/contradiction.hpp"

#include <gtest/gtest.h>

namespace stepleak {
namespace {

Result leak_of(Kind kind) {
  Result result{.verdict = Verdict::leak};
  result.findings = {Finding{.kind = kind}};
  return result;
}

TEST(ContradictionTest, IsAVerdictOtherThanTheDeclaredOne) {
  const Scenario clean{.expected = Verdict::clean};
  EXPECT_EQ(contradiction_of(clean, {.verdict = Verdict::clean}), "");
  EXPECT_EQ(contradiction_of(clean, leak_of(Kind::growth)), "it is leak, and the scenario says clean");
  const Scenario leak{.expected = Verdict::leak};
  EXPECT_EQ(contradiction_of(leak, {.verdict = Verdict::clean}), "it is clean, and the scenario says leak");
}

TEST(ContradictionTest, IsALeakOfNoneOfTheDeclaredKinds) {
  const Scenario leak{.expected = Verdict::leak, .kinds = {Kind::growth, Kind::host_heap}};
  EXPECT_EQ(contradiction_of(leak, leak_of(Kind::host_heap)), "");
  EXPECT_EQ(contradiction_of(leak, leak_of(Kind::raw_cuda)), "it has no finding growth, and the scenario says so");
}

TEST(ContradictionTest, IsNoKindWhereNoneIsDeclared) {
  EXPECT_EQ(contradiction_of({.expected = Verdict::leak}, leak_of(Kind::raw_cuda)), "");
}

}  // namespace
}  // namespace stepleak
