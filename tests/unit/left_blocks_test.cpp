// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/torch/left_blocks.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace stepleak {
namespace {

StackCapture capture_of(std::string written, std::vector<void*> addresses = {}) {
  return std::make_shared<const CapturedStack>(
      CapturedStack{.addresses = std::move(addresses), .written = std::move(written)});
}

LeftBlock left_at(std::uintptr_t address, std::size_t site, std::int64_t step) {
  return {.block = {address, 300, step}, .site = site, .step = step};
}

struct Joined {
  std::vector<int> stacks;         // of each block
  std::vector<std::string> asked;  // what the table was asked for, in order
};

// With a table that numbers whatever it is asked for, as StackTable does.
Joined join(const BlockStacks::Table& captures, std::vector<LeftBlock> left) {
  Joined joined;
  const auto index_of = [&](const StackCapture& capture) {
    joined.asked.push_back(capture->written);
    return static_cast<int>(joined.asked.size()) - 1;
  };
  add_stacks(captures, index_of, left);
  for (const auto& block : left) joined.stacks.push_back(block.stack);
  return joined;
}

TEST(LeftBlocksTest, HaveTheStackThatWasCapturedForThem) {
  const auto joined = join({{0x10, {3, capture_of("log.py:7")}}, {0x20, {3, capture_of("cache.py:9")}}},
                           {left_at(0x10, 1, 3), left_at(0x20, 2, 3), left_at(0x30, 3, 3)});
  EXPECT_EQ(joined.stacks, (std::vector{0, 1, kNoStack}));
  EXPECT_EQ(joined.asked, (std::vector<std::string>{"log.py:7", "cache.py:9"}));
}

TEST(LeftBlocksTest, ShareOneIndexWhereStacksAreEqual) {
  int frame = 0;
  int other = 0;
  const auto joined = join({{0x10, {3, capture_of("log.py:7", {&frame})}},
                            {0x20, {4, capture_of("log.py:7", {&frame})}},
                            {0x30, {5, capture_of("log.py:7", {&other})}}},
                           {left_at(0x10, 1, 3), left_at(0x20, 1, 4), left_at(0x30, 2, 5)});
  EXPECT_EQ(joined.stacks, (std::vector{0, 0, 1}));
  EXPECT_EQ(joined.asked.size(), 2U);
}

TEST(LeftBlocksTest, OfASiteWithOneStackHaveItWithoutACapture) {
  // Of the first steps it was not known that anything stays.
  const auto joined = join({{0x30, {3, capture_of("log.py:7")}}, {0x40, {4, capture_of("log.py:7")}}},
                           {left_at(0x10, 1, 1), left_at(0x20, 1, 2), left_at(0x30, 1, 3), left_at(0x40, 1, 4)});
  EXPECT_EQ(joined.stacks, (std::vector{0, 0, 0, 0}));
}

TEST(LeftBlocksTest, OfASiteWithSeveralStacksHaveNoneWithoutACapture) {
  // A third one, equal to the first, makes the site no clearer.
  const auto joined = join(
      {{0x20, {2, capture_of("log.py:7")}}, {0x30, {3, capture_of("log.py:8")}}, {0x40, {4, capture_of("log.py:7")}}},
      {left_at(0x10, 1, 1), left_at(0x20, 1, 2), left_at(0x30, 1, 3), left_at(0x40, 1, 4)});
  EXPECT_EQ(joined.stacks, (std::vector{kNoStack, 0, 1, 0}));
}

TEST(LeftBlocksTest, OfNoKnownSiteShareNothing) {
  // Site 0 stands for all that came when the table of sites was full.
  const auto joined = join({{0x20, {2, capture_of("log.py:7")}}}, {left_at(0x10, 0, 1), left_at(0x20, 0, 2)});
  EXPECT_EQ(joined.stacks, (std::vector{kNoStack, 0}));
}

TEST(LeftBlocksTest, HaveNoStackOfABlockThatWasThereBefore) {
  // The address was another block's, whose free was not seen; nor does that one speak for the site.
  const auto joined = join({{0x10, {2, capture_of("gone.py:1")}}}, {left_at(0x10, 1, 5), left_at(0x20, 1, 5)});
  EXPECT_EQ(joined.stacks, (std::vector{kNoStack, kNoStack}));
  EXPECT_TRUE(joined.asked.empty());
}

TEST(LeftBlocksTest, HaveNoStackWhereNoneCouldBeCaptured) {
  const auto joined =
      join({{0x10, {3, nullptr}}, {0x20, {4, capture_of("log.py:7")}}}, {left_at(0x10, 1, 3), left_at(0x20, 1, 4)});
  // But the site's, which is known.
  EXPECT_EQ(joined.stacks, (std::vector{0, 0}));
}

}  // namespace
}  // namespace stepleak
