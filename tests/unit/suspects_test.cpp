// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/analyse/suspects.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace stepleak {
namespace {

// Two places that keep something of each step: the survivors lie where an allocator put them.
Recording two_places(std::int64_t bytes_of_second) {
  Recording recording{.pass = {.planned_steps = 8}, .steps = 8};
  recording.stacks = {{{"train.py", 90, "step", "", FrameOwner::user}},
                      {{"train.py", 9, "collect", "", FrameOwner::user}}};
  for (std::int64_t step = 1; step <= 6; ++step) {
    recording.survivors.push_back({.birth_step = step, .storage_bytes = 64, .stack = 0});
    recording.survivors.push_back({.birth_step = step, .storage_bytes = bytes_of_second, .stack = 1});
  }
  return recording;
}

std::string function_named(const Recording& recording) {
  Finding finding;
  add_suspects(recording, survivors_where(recording, [](const Survivor&) { return true; }), finding);
  return finding.where.at(0).function;
}

TEST(SuspectsTest, NamesOfEquallyHeavyPlacesTheSameInWhateverOrder) {
  auto recording = two_places(64);
  EXPECT_EQ(function_named(recording), "collect");
  std::reverse(recording.survivors.begin(), recording.survivors.end());
  EXPECT_EQ(function_named(recording), "collect");
}

TEST(SuspectsTest, NamesTheHeavierPlaceWhateverItsName) {
  EXPECT_EQ(function_named(two_places(32)), "step");
  EXPECT_EQ(function_named(two_places(65)), "collect");
}

TEST(SuspectsTest, KeepsStoragesInTheOrderOfBirthWhateverTheirAddresses) {
  Recording recording{.pass = {.planned_steps = 8}, .steps = 8};
  for (const std::uint64_t address : {0x30, 0x10, 0x20}) {
    recording.survivors.push_back({.type = SurvivorType::tensor, .birth_step = 1, .storage = address, .bytes = 4});
  }
  recording.survivors.push_back({.type = SurvivorType::tensor, .birth_step = 1, .storage = 0x30, .bytes = 8});
  const auto storages = old_storages(recording, kHost);
  ASSERT_EQ(storages.size(), 3U);
  EXPECT_EQ(storages[0]->storage, 0x30U);
  EXPECT_EQ(storages[0]->bytes, 8);
  EXPECT_EQ(storages[1]->storage, 0x10U);
  EXPECT_EQ(storages[2]->storage, 0x20U);
}

}  // namespace
}  // namespace stepleak
