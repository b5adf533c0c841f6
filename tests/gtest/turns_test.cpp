// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

// Whose the host heap's growth is among many pieces of work that take turns.

#include "stepleak/turns.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace stepleak {
namespace {

constexpr int kOthers = 20;
constexpr int kRounds = 260;  // `quick` confirms what only the heap shows at its last look, the 238th
constexpr std::size_t kKeptBytes = 8 << 10;

// A round is one turn of a piece that keeps memory, or gives it back, and one each of many that are clean soon.
Result result_among_many(bool keeps) {
  Turns turns({.target = "all", .device = "cpu", .effort = "quick"});
  std::vector<std::unique_ptr<char[]>> kept;
  for (int round = 0; round < kRounds; ++round) {
    turns.begin("first");
    kept.push_back(std::make_unique<char[]>(kKeptBytes));
    if (!keeps) kept.clear();
    turns.end();
    for (int other = 0; other < kOthers; ++other) {
      turns.begin("other " + std::to_string(other));
      turns.end();
    }
    turns.end_round();
  }
  return turns.result("first");
}

TEST(TurnsTest, FindsWhatOneKeepsWhileManyOthersAreJudged) {
  EXPECT_EQ(result_among_many(true).verdict, Verdict::leak);
}

TEST(TurnsTest, IsCleanWhereItIsGivenBack) { EXPECT_EQ(result_among_many(false).verdict, Verdict::clean); }

TEST(TurnsTest, IsDecidedOnceAVerdictStandsAndNotBefore) {
  Turns turns({.target = "all", .device = "cpu", .effort = "quick"});
  EXPECT_FALSE(turns.is_decided("one"));
  int rounds = 0;
  for (; rounds < 64 && !turns.is_decided("one"); ++rounds) {
    turns.begin("one");
    turns.end();
    turns.end_round();
  }
  EXPECT_EQ(rounds, 16);
  EXPECT_EQ(turns.result("one").verdict, Verdict::clean);
}

}  // namespace
}  // namespace stepleak
