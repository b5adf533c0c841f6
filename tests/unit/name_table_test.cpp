// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/name_table.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace stepleak {
namespace {

std::string name_of(std::size_t index) { return "mine::op_" + std::to_string(index); }

TEST(NameTableTest, KeepsEachNameOnce) {
  NameTable names;
  const auto* kept = names.kept(name_of(1));
  EXPECT_EQ(kept, names.kept(name_of(1)));
  EXPECT_STREQ(kept, "mine::op_1");
  EXPECT_STREQ(names.kept(name_of(2)), "mine::op_2");
}

TEST(NameTableTest, KeepsNoMoreThanItsMostNames) {
  NameTable names;
  for (std::size_t i = 0; i < NameTable::kMostNames; ++i) ASSERT_EQ(names.kept(name_of(i)), name_of(i));
  EXPECT_STREQ(names.kept(name_of(NameTable::kMostNames)), NameTable::kOtherName);
  // Those that it has are still told.
  EXPECT_STREQ(names.kept(name_of(0)), "mine::op_0");
}

TEST(NameTableTest, KeepsEachNameOnceForSeveralThreads) {
  constexpr std::size_t kNames = 2000;
  NameTable names;
  std::vector<std::vector<const char*>> kept(4, std::vector<const char*>(kNames));
  std::vector<std::thread> threads;
  for (auto& own : kept) {
    threads.emplace_back([&names, &own] {
      for (std::size_t i = 0; i < kNames; ++i) own[i] = names.kept(name_of(i));
    });
  }
  for (auto& thread : threads) thread.join();
  for (std::size_t i = 0; i < kNames; ++i) ASSERT_EQ(kept[0][i], name_of(i));
  for (const auto& own : kept) EXPECT_EQ(own, kept[0]);
}

TEST(NameTableTest, CutsOnlyALongName) {
  NameTable names;
  const std::string longest(NameTable::kLongestName, 'a');
  EXPECT_EQ(names.kept(longest), longest);
  EXPECT_EQ(names.kept(longest + "b"), longest);
}

}  // namespace
}  // namespace stepleak
