// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/observe/piece_probe.hpp"

#include <gtest/gtest.h>

namespace stepleak {
namespace {

/// A sum that moves by `difference` in each round, within a ledger that the round moves by `left`.
std::int64_t sum_after(int rounds, std::int64_t difference, std::int64_t left, std::int64_t ledger = 1000) {
  Enclosed enclosed;
  std::int64_t sum = 0;
  for (int round = 0; round < rounds; ++round) {
    // What is given back is so after the boundary.
    const auto at_the_boundary = ledger + difference;
    sum = enclosed.moved(sum, difference, at_the_boundary);
    enclosed.add(sum, at_the_boundary);
    ledger += left;
  }
  return sum;
}

TEST(EnclosedTest, CountsWhatStays) { EXPECT_EQ(sum_after(10, 8, 8), 80); }

TEST(EnclosedTest, CountsNoMoreThanOnceWhatIsGivenBackLater) { EXPECT_EQ(sum_after(10, 8, 0), 8); }

TEST(EnclosedTest, CountsThePartThatIsLeft) { EXPECT_EQ(sum_after(10, 8, 2), 8 + 9 * 2); }

TEST(EnclosedTest, CountsNoLossOfWhatAnotherRefills) { EXPECT_EQ(sum_after(10, -8, 0), -8); }

TEST(EnclosedTest, LeavesTheGrowthOfOthersAlone) { EXPECT_EQ(sum_after(10, 0, 100), 0); }

TEST(EnclosedTest, ForgetsALevelThatWasReachedBeforeIt) {
  Enclosed enclosed;
  enclosed.add(0, 0);
  enclosed.add(0, 100000);  // others have set up something large, and this one nothing
  EXPECT_EQ(enclosed.moved(0, 8, 100000), 0);
  EXPECT_EQ(enclosed.moved(0, 8, 100008), 8);
}

}  // namespace
}  // namespace stepleak
