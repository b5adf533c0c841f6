// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <set>

#include "tests/calibration/table.hpp"

namespace stepleak {
namespace {

Cell cell(std::string outcomes) { return {.name = "case", .outcomes = std::move(outcomes)}; }

TEST(CalibrationTableTest, IsWorseWhereMoreIsWrongOrLessIsRight) {
  EXPECT_EQ(worse_than({cell("rrru")}, {cell("rruu")}).size(), 1U);
  EXPECT_EQ(worse_than({cell("rrru")}, {cell("rrrW")}).size(), 1U);
  EXPECT_EQ(worse_than({cell("rrru")}, {cell("rrWW")}).size(), 2U);
}

TEST(CalibrationTableTest, IsNoWorseWhereOtherDrawsAreRightOrMore) {
  EXPECT_TRUE(worse_than({cell("rrru")}, {cell("urrr")}).empty());
  EXPECT_TRUE(worse_than({cell("rrWu")}, {cell("rrrs")}).empty());
}

TEST(CalibrationTableTest, ComparesAsManyDrawsAsBothHave) {
  EXPECT_TRUE(worse_than({cell("rrWW")}, {cell("rr")}).empty());
  EXPECT_EQ(worse_than({cell("rrWW")}, {cell("rW")}).size(), 2U);
}

TEST(CalibrationTableTest, NamesACellThatIsNotStored) { EXPECT_EQ(worse_than({}, {cell("r")}).size(), 1U); }

TEST(CalibrationTest, DrawsTheSameProgramsAgain) {
  const auto once = calibrate(3, "random", {});
  const auto again = calibrate(3, "random", {});
  ASSERT_FALSE(once.empty());
  EXPECT_EQ(json_of(once), json_of(again));
}

TEST(CalibrationTest, HasEachCaseOnce) {
  std::set<std::string> names;
  for (const auto& list : {healthy_cases(), leaking_cases()}) {
    for (const auto& known : list) EXPECT_TRUE(names.insert(known.name).second) << known.name;
  }
}

}  // namespace
}  // namespace stepleak
