// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/analyse/gains.hpp"

#include <gtest/gtest.h>

namespace stepleak {
namespace {

// Two lists below `around`, of which each gained 100 bytes in 10 blocks.
Recording two_lists(const ObjectNode& around, int second_line = 0) {
  Recording recording;
  recording.objects.nodes = {around, {.type = "list", .length = 8}, {.type = "list", .length = 8}};
  recording.objects.edges = {{.from = 0, .to = 1, .type = EdgeType::key, .label = "'a'"},
                             {.from = 0, .to = 2, .type = EdgeType::key, .label = "'b'"}};
  for (const int place : {1, 2}) {
    recording.holders.push_back({.path = {place - 1},
                                 .held = place,
                                 .container = place,
                                 .kept_by = {.file = "train.py", .line = place == 1 ? 7 : second_line},
                                 .gained_bytes = 100,
                                 .gained_blocks = 10,
                                 .is_weighed = true});
  }
  return recording;
}

const ObjectNode kDict{.type = "dict", .name = "train.series", .length = 2};
const ObjectNode kObject{.type = "Meter", .name = "train.meter"};

TEST(GainsTest, AreTogetherThoseOfContainersInTheSameContainer) {
  const auto gain = gain_together(two_lists(kDict), 0);
  EXPECT_EQ(gain.bytes, 200);
  EXPECT_EQ(gain.blocks, 20);
  EXPECT_TRUE(gain.is_weighed);
}

TEST(GainsTest, AreEachItsOwnInTwoAttributesOfAnObject) { EXPECT_EQ(gain_together(two_lists(kObject), 0).bytes, 100); }

TEST(GainsTest, AreTogetherThoseOfContainersThatOneStatementFills) {
  EXPECT_EQ(gain_together(two_lists(kObject, 7), 0).bytes, 200);
  EXPECT_EQ(gain_together(two_lists(kObject, 8), 0).bytes, 100);
}

TEST(GainsTest, CountAContainerOnceThatTwoWaysLeadTo) {
  auto recording = two_lists(kDict);
  recording.holders.push_back(recording.holders.front());
  EXPECT_EQ(gain_together(recording, 0).bytes, 200);
}

TEST(GainsTest, AreNotAllKnownWhereOneCannotBeWeighed) {
  auto recording = two_lists(kDict);
  recording.holders.back().is_weighed = false;
  EXPECT_FALSE(gain_together(recording, 0).is_weighed);
}

TEST(GainsTest, AreOfTheFirstLinkWhereThereIsNoContainer) {
  const Holder link{.held = 0, .gained_bytes = 64, .is_weighed = true};
  EXPECT_TRUE(is_of_growth(link));
  EXPECT_EQ(grown_of(link), 0);
  EXPECT_FALSE(is_of_growth({.held = 0}));
}

}  // namespace
}  // namespace stepleak
