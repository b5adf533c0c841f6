// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/block_table.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace stepleak {
namespace {

constexpr std::uintptr_t kBase = 0x100000;

std::uintptr_t address_of(std::uintptr_t index) { return kBase + 64 * index; }

TEST(BlockTableTest, CountsWhatIsLive) {
  BlockTable table;
  table.insert({address_of(1), 100, 1});
  table.insert({address_of(2), 28, 1});
  EXPECT_EQ(table.live_bytes(), 128);
  EXPECT_TRUE(table.erase(address_of(1)));
  EXPECT_EQ(table.live_bytes(), 28);
  EXPECT_EQ(table.live_blocks(), 1);
  EXPECT_EQ(table.peak_bytes(), 128);
}

TEST(BlockTableTest, IgnoresTheFreeOfABlockFromBefore) {
  BlockTable table;
  EXPECT_FALSE(table.erase(address_of(7)));
  EXPECT_EQ(table.live_bytes(), 0);
}

TEST(BlockTableTest, GrowsBeyondItsCapacityAndLosesNothing) {
  BlockTable table(16);
  for (std::uintptr_t i = 0; i < 10000; ++i) table.insert({address_of(i), 1, static_cast<std::int64_t>(i)});
  EXPECT_EQ(table.live_blocks(), 10000);
  std::int64_t visited = 0;
  table.for_each([&](const Block& block) {
    visited += block.address == address_of(static_cast<std::uintptr_t>(block.birth_step));
  });
  EXPECT_EQ(visited, 10000);
  for (std::uintptr_t i = 0; i < 10000; ++i) EXPECT_TRUE(table.erase(address_of(i)));
  EXPECT_EQ(table.live_bytes(), 0);
  EXPECT_EQ(table.dropped_count(), 0);
}

TEST(BlockTableTest, StaysExactUnderTwoThreads) {
  BlockTable table(64);
  const auto work = [&](std::uintptr_t first) {
    for (int round = 0; round < 200; ++round) {
      for (std::uintptr_t i = 0; i < 500; ++i) table.insert({address_of(first + i), 8, round});
      for (std::uintptr_t i = 0; i < 500; ++i) EXPECT_TRUE(table.erase(address_of(first + i)));
    }
  };
  std::thread other(work, 1000);
  work(0);
  other.join();
  EXPECT_EQ(table.live_bytes(), 0);
  EXPECT_EQ(table.live_blocks(), 0);
}

TEST(BlockTableTest, DatesOldBlocksToTheSetUpOfANewRun) {
  BlockTable table;
  table.insert({address_of(1), 8, 257});
  table.restart();
  table.for_each([](const Block& block) { EXPECT_EQ(block.birth_step, 0); });
}

}  // namespace
}  // namespace stepleak
