// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/session/peers.hpp"

#include <gtest/gtest.h>

namespace stepleak {
namespace {

const Move kGoOn{};
const Move kFill{Next::fill, {.type = PassType::fill, .planned_steps = 300}};
const Move kRecord{Next::record, {.type = PassType::record, .planned_steps = 29, .stride = 7, .young_steps = 2}};
const Move kStop{.next = Next::stop};
const Move kLeak{.next = Next::stop, .is_leak = true};

// The same whoever says it.
Next joint(const Move& a, const Move& b) {
  EXPECT_EQ(joint_move(a, b).next, joint_move(b, a).next);
  return joint_move(a, b).next;
}

TEST(PeersTest, GoOnAsLongAsOneDoes) {
  EXPECT_EQ(joint(kStop, kGoOn), Next::go_on);
  EXPECT_EQ(joint(kFill, kGoOn), Next::go_on);
  EXPECT_EQ(joint(kStop, kFill), Next::fill);
  EXPECT_EQ(joint(kStop, kStop), Next::stop);
}

TEST(PeersTest, RecordASuspicionWhateverTheOthersStillWaitFor) {
  for (const auto& other : {kGoOn, kFill, kStop, kLeak}) EXPECT_EQ(joint(kRecord, other), Next::record);
}

TEST(PeersTest, StopForALeakWhateverTheOthersStillWaitFor) {
  for (const auto& other : {kGoOn, kFill, kStop, kLeak}) EXPECT_EQ(joint(kLeak, other), Next::stop);
}

TEST(PeersTest, RecordTheLongestPassThatOneNeeds) {
  const Move of_each_task{Next::record, {.type = PassType::record, .planned_steps = 101, .young_steps = 21}};
  const auto pass = joint_move(kRecord, of_each_task).pass;
  EXPECT_EQ(pass.planned_steps, 101);
  EXPECT_EQ(pass.young_steps, 21);
  EXPECT_EQ(pass.stride, 1);
}

}  // namespace
}  // namespace stepleak
