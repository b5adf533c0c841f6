// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/block_table.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

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

// Each block is replaced by one at an address that was never used before.
void replace_blocks(BlockTable& table, std::uintptr_t first, std::uintptr_t live, std::uintptr_t replacements) {
  for (std::uintptr_t i = 0; i < live; ++i) table.insert({address_of(first + i), 8, 1});
  for (std::uintptr_t i = 0; i < replacements; ++i) {
    table.erase(address_of(first + i));
    table.insert({address_of(first + i + live), 8, 1});
  }
}

TEST(BlockTableTest, TakesNoMoreMemoryForEverNewAddresses) {
  BlockTable table(1 << 14);
  const auto at_first = table.mapped_bytes();
  replace_blocks(table, 0, 1000, 5'000'000);
  EXPECT_EQ(table.live_blocks(), 1000);
  EXPECT_EQ(table.mapped_bytes(), at_first);
}

TEST(BlockTableTest, TakesMemoryForMoreLiveBlocks) {
  BlockTable table(1 << 14);
  const auto at_first = table.mapped_bytes();
  replace_blocks(table, 0, 100'000, 0);
  EXPECT_GT(table.mapped_bytes(), at_first);
  EXPECT_GE(table.mapped_bytes(), 100'000 * sizeof(Block) * 2);
  // Parts differ a little in how many blocks they got.
  EXPECT_LE(table.mapped_bytes(), 100'000 * sizeof(Block) * 6);
}

TEST(BlockTableTest, TakesNoMoreMemoryForEverNewAddressesOfSeveralThreads) {
  BlockTable table(1 << 14);
  const auto at_first = table.mapped_bytes();
  std::vector<std::thread> threads;
  for (std::uintptr_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&table, thread] { replace_blocks(table, thread << 32, 500, 500'000); });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(table.live_blocks(), 4 * 500);
  EXPECT_EQ(table.live_bytes(), 4 * 500 * 8);
  EXPECT_EQ(table.mapped_bytes(), at_first);
}

TEST(BlockTableTest, GivesMemoryBackWhereANewRunNeedsLess) {
  BlockTable table(1 << 10);
  const auto at_first = table.mapped_bytes();
  replace_blocks(table, 0, 100'000, 0);
  for (std::uintptr_t i = 10; i < 100'000; ++i) table.erase(address_of(i));
  EXPECT_GT(table.mapped_bytes(), at_first);
  table.restart();
  EXPECT_EQ(table.mapped_bytes(), at_first);
  for (std::uintptr_t i = 0; i < 10; ++i) EXPECT_TRUE(table.erase(address_of(i)));
}

TEST(BlockTableTest, KeepsItsMemoryWhereANewRunNeedsAsMuch) {
  BlockTable table(1 << 10);
  replace_blocks(table, 0, 100'000, 0);
  const auto full = table.mapped_bytes();
  table.restart();
  EXPECT_GE(table.mapped_bytes() * 2, full);
  EXPECT_EQ(table.live_blocks(), 100'000);
}

// Collisions in any order: the reference is a plain set.
TEST(BlockTableTest, FindsEachBlockAfterErasuresInAnyOrder) {
  BlockTable table(1);
  std::set<std::uintptr_t> reference;
  std::uint64_t random = 1;
  for (int i = 0; i < 300'000; ++i) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    const auto address = address_of(random >> 33 & 0xfff);
    if ((random & 1 << 20) == 0) {
      if (reference.insert(address).second) table.insert({address, 1, 1});
    } else {
      ASSERT_EQ(table.erase(address), reference.erase(address) == 1);
    }
  }
  std::set<std::uintptr_t> visited;
  table.for_each([&](const Block& block) { visited.insert(block.address); });
  EXPECT_EQ(visited, reference);
}

TEST(BlockTableTest, ReplacesABlockWhoseFreeWasMissed) {
  BlockTable table;
  table.insert({address_of(1), 100, 1});
  table.insert({address_of(1), 30, 2});
  EXPECT_EQ(table.live_bytes(), 30);
  EXPECT_EQ(table.live_blocks(), 1);
}

TEST(BlockTableTest, LetsAVisitorAllocate) {
  BlockTable table;
  for (std::uintptr_t i = 0; i < 1000; ++i) table.insert({address_of(i), 1, 1});
  int visits = 0;
  table.for_each([&](const Block& block) {
    ++visits;
    table.erase(block.address);
    table.insert({block.address + 8, 1, 2});  // the same part of the table
  });
  EXPECT_EQ(visits, 1000);
}

// How a forked child ended that used each part of the table.
int status_of_child_that_uses(BlockTable& table) {
  const auto child = ::fork();
  if (child == 0) {
    ::alarm(20);  // a child that hangs is killed
    for (std::uintptr_t i = 0; i < 1000; ++i) {
      table.insert({address_of((std::uintptr_t{1} << 30) + i), 8, 1});
      table.erase(address_of((std::uintptr_t{1} << 30) + i));
    }
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(BlockTableTest, DoesNotHangInAChildForkedInTheMiddle) {
  BlockTable table(1 << 10);
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    for (std::uintptr_t round = 0; !is_over; ++round) replace_blocks(table, round << 20, 100, 10'000);
  });
  for (int i = 0; i < 100; ++i) ASSERT_EQ(status_of_child_that_uses(table), 0);
  is_over = true;
  other.join();
}

TEST(BlockTableTest, DatesOldBlocksToTheSetUpOfANewRun) {
  BlockTable table;
  table.insert({address_of(1), 8, 257});
  table.restart();
  table.for_each([](const Block& block) { EXPECT_EQ(block.birth_step, 0); });
}

TEST(BlockTableTest, CountsWhatIsLeftOfTheSetUp) {
  BlockTable table(64);
  table.insert({0x1000, 64, 5});  // in an earlier run
  table.insert({0x2000, 64, 0});
  EXPECT_EQ(table.set_up_blocks(), 1);
  table.restart();
  EXPECT_EQ(table.set_up_blocks(), 2);
  table.insert({0x3000, 64, 1});
  table.erase(0x1000);
  EXPECT_EQ(table.set_up_blocks(), 1);
  table.insert({0x2000, 32, 2});  // whose free was missed
  EXPECT_EQ(table.set_up_blocks(), 0);
}

}  // namespace
}  // namespace stepleak
