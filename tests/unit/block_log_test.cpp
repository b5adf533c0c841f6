// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/block_log.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>
#include <vector>

namespace stepleak {
namespace {

struct Watched {
  BlockTable table{16};
  BlockLog log{table};
};

constexpr std::uintptr_t address_of(std::uintptr_t index) { return 0x100000 + 64 * index; }

std::map<std::uintptr_t, std::int64_t> births_of(const BlockTable& table) {
  std::map<std::uintptr_t, std::int64_t> births;
  table.for_each([&](const Block& block) { births[block.address] = block.birth_step; });
  return births;
}

TEST(BlockLogTest, TellsWhatIsLiveAndTheTableOnceItIsSettled) {
  Watched watched;
  watched.log.made({address_of(1), 100, 1});
  watched.log.made({address_of(2), 28, 2});
  watched.log.freed(address_of(1), 100);
  EXPECT_EQ(watched.log.live_bytes(), 28);
  EXPECT_EQ(watched.log.peak_bytes(), 128);
  EXPECT_EQ(watched.table.live_blocks(), 0);
  watched.log.settle();
  EXPECT_EQ(births_of(watched.table), (std::map<std::uintptr_t, std::int64_t>{{address_of(2), 2}}));
  watched.log.reset_peak();
  EXPECT_EQ(watched.log.peak_bytes(), 28);
}

TEST(BlockLogTest, BeginsWithWhatTheTableHolds) {
  Watched watched;
  watched.log.made({address_of(7), 8, 1});
  watched.table.insert({address_of(1), 100, 0});
  watched.log.begin();
  EXPECT_EQ(watched.log.live_bytes(), 100);
  EXPECT_EQ(watched.log.peak_bytes(), 100);
  watched.log.settle();
  EXPECT_EQ(watched.table.live_blocks(), 1);
}

TEST(BlockLogTest, ErasesWhatWasNotSettledYetAndKnowsWhatIsNot) {
  Watched watched;
  watched.log.made({address_of(1), 100, 1});
  EXPECT_FALSE(watched.log.erase(address_of(2), 50));
  EXPECT_EQ(watched.log.live_bytes(), 100);
  EXPECT_TRUE(watched.log.erase(address_of(1), 100));
  EXPECT_EQ(watched.log.live_bytes(), 0);
  EXPECT_EQ(watched.table.live_blocks(), 0);
}

// As if each event had changed the table at once, however many come between two settlings.
TEST(BlockLogTest, KeepsTheOrderOfEvents) {
  Watched watched;
  BlockTable at_once(16);
  std::mt19937 random(1);
  std::vector<bool> is_live(300, false);
  for (std::int64_t event = 0; event < 100'000; ++event) {
    const auto index = random() % is_live.size();
    const auto address = address_of(index);
    if (is_live[index]) {
      watched.log.freed(address, 8);
      at_once.erase(address);
    } else {
      watched.log.made({address, 8, event});
      at_once.insert({address, 8, event});
    }
    is_live[index] = !is_live[index];
    ASSERT_EQ(watched.log.live_bytes(), at_once.live_bytes());
  }
  EXPECT_EQ(watched.log.peak_bytes(), at_once.peak_bytes());
  watched.log.settle();
  EXPECT_EQ(births_of(watched.table), births_of(at_once));
}

TEST(BlockLogTest, LosesNothingUnderTwoThreads) {
  Watched watched;
  const auto work = [&](std::uintptr_t first) {
    for (int round = 0; round < 200; ++round) {
      for (std::uintptr_t i = 0; i < 100; ++i) watched.log.made({address_of(first + i), 8, round});
      for (std::uintptr_t i = 1; i < 100; ++i) watched.log.freed(address_of(first + i), 8);
      if (round % 10 == 0) watched.log.settle();
      EXPECT_TRUE(watched.log.erase(address_of(first), 8));
    }
  };
  std::thread other(work, 1000);
  work(0);
  other.join();
  watched.log.settle();
  EXPECT_EQ(watched.log.live_bytes(), 0);
  EXPECT_EQ(watched.table.live_blocks(), 0);
}

}  // namespace
}  // namespace stepleak
