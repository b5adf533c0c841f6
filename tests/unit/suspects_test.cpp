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

// The current episode has the heavier ones in use, and a registry keeps every episode.
TEST(SuspectsTest, NamesWhatKeepsForEverBeforeWhatIsInUse) {
  const auto named = [](StructureType type, std::int64_t gained) {
    auto recording = two_places(32);
    recording.objects.nodes = {{.type = "list"}, {.type = "dict"}};
    recording.holders = {{.held = 0, .container = 0, .structure = {.type = StructureType::reset}},
                         {.held = 1, .container = 1, .structure = {.type = type}, .gained_entries = gained}};
    for (auto& survivor : recording.survivors) survivor.holder = survivor.stack;
    return function_named(recording);
  };
  EXPECT_EQ(named(StructureType::unbounded, 2), "collect");
  EXPECT_EQ(named(StructureType::unbounded, 0), "step");
  EXPECT_EQ(named(StructureType::bounded, 2), "step");
}

// The first of them is the best so far, which an attribute keeps; a list has all of them.
TEST(SuspectsTest, NamesAContainerBeforeAVariableThatKeepsOne) {
  auto recording = two_places(0);
  recording.objects.nodes = {{.type = "Tensor"}, {.type = "list"}};
  recording.holders = {{.held = 0}, {.held = 1, .container = 1}};
  for (auto& survivor : recording.survivors) survivor.holder = survivor.birth_step == 1 ? 0 : 1;
  Finding finding;
  add_suspects(recording, survivors_where(recording, [](const Survivor&) { return true; }), finding);
  EXPECT_EQ(finding.holder_index, 1);
  recording.holders[1].container = -1;
  add_suspects(recording, survivors_where(recording, [](const Survivor&) { return true; }), finding);
  EXPECT_EQ(finding.holder_index, 0);
}

TEST(SuspectsTest, ShowsWhatTheNamedHolderKeeps) {
  auto recording = two_places(32);
  for (auto& survivor : recording.survivors) survivor.holder = survivor.stack;
  const auto suspects = survivors_where(recording, [](const Survivor&) { return true; });
  const auto shown = [&](int holder) { return example_of(suspects, Finding{.holder_index = holder})->storage_bytes; };
  EXPECT_EQ(shown(1), 32);
  EXPECT_EQ(shown(0), 64);
  EXPECT_EQ(shown(-1), 64);
  EXPECT_EQ(example_of({}, Finding{}), nullptr);
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

// Four steps, of each of which a container keeps one tensor, and a list another or the same one.
Recording ring_and_list(std::int64_t length, std::int64_t gained, bool is_shared) {
  Recording recording{.pass = {.first_step = 1, .planned_steps = 4, .young_steps = 0}, .steps = 4};
  recording.objects.nodes = {{.type = "dict", .name = "ring", .length = length}, {.type = "Tensor"}};
  recording.objects.edges = {{.from = 0, .to = 1, .type = EdgeType::key, .label = "3"}};
  recording.holders.push_back({.path = {0},
                               .held = 1,
                               .container = 0,
                               .structure = {.type = StructureType::bounded, .bound = 16},
                               .gained_entries = gained});
  const auto keep = [&](std::int64_t step, std::uint64_t storage, int holder) {
    recording.survivors.push_back(
        {.type = SurvivorType::tensor, .birth_step = step, .storage = storage, .bytes = 4, .holder = holder});
  };
  for (std::int64_t step = 1; step <= 4; ++step) {
    const auto storage = static_cast<std::uint64_t>(8 * step);
    keep(step, storage, 0);
    keep(step, is_shared ? storage : storage + 4, -1);
  }
  return recording;
}

std::vector<int> holders_of(const Recording& recording) {
  std::vector<int> holders;
  const auto storages = without_replacements(recording, old_storages(recording, kHost));
  for (const auto* storage : storages) holders.push_back(storage->holder);
  return holders;
}

TEST(SuspectsTest, LeavesOutWhatTookThePlaceOfAnother) {
  for (const bool is_shared : {false, true}) {
    EXPECT_EQ(holders_of(ring_and_list(16, 0, is_shared)), std::vector<int>(4, -1)) << is_shared;
  }
}

TEST(SuspectsTest, KeepsWhatAContainerTookThatIsNotFull) {
  EXPECT_EQ(holders_of(ring_and_list(12, 0, true)), std::vector<int>(4, 0));
  EXPECT_EQ(holders_of(ring_and_list(16, 4, true)), std::vector<int>(4, 0));
}

TEST(SuspectsTest, KeepsReplacementsWhereNothingElseStays) {
  auto recording = ring_and_list(16, 0, true);
  std::erase_if(recording.survivors, [](const Survivor& survivor) { return survivor.holder < 0; });
  EXPECT_EQ(holders_of(recording), std::vector<int>(4, 0));
}

// All of them made by one statement, which each step comes to by another way.
Recording made_in_one_place(Recording recording) {
  recording.stacks.assign(recording.survivors.size(), {{"train.py", 90, "step", "", FrameOwner::user}});
  for (std::size_t i = 0; i < recording.survivors.size(); ++i) recording.survivors[i].stack = static_cast<int>(i);
  recording.stacks.push_back({{"train.py", 91, "step", "", FrameOwner::user}});
  return recording;
}

// Two of each step, of which holders are known of the ring's alone, and one that was made elsewhere.
TEST(SuspectsTest, LeavesOutWhatIsMadeWhereAllThatAreKnownTookThePlaceOfAnother) {
  auto recording = made_in_one_place(ring_and_list(16, 0, false));
  recording.survivors.push_back(
      {.type = SurvivorType::tensor, .birth_step = 4, .storage = 0x90, .bytes = 4, .stack = 8});
  EXPECT_EQ(holders_of(recording), std::vector<int>(1, -1));
  recording.survivors.back().stack = 0;
  EXPECT_EQ(holders_of(recording).size(), 9U);  // each took another's place: all count
  recording.survivors.back().is_unreachable = true;
  EXPECT_EQ(holders_of(recording), std::vector<int>(1, -1));
}

TEST(SuspectsTest, KeepsWhatIsMadeWhereOneLiesInAContainerThatGrows) {
  auto recording = made_in_one_place(ring_and_list(16, 0, false));
  recording.holders.push_back(recording.holders.front());
  recording.holders.back().gained_entries = 4;
  recording.survivors.back().holder = 1;
  EXPECT_EQ(holders_of(recording), (std::vector<int>{-1, -1, -1, 1}));
}

// Hooks that are registered again and again, of each of which the newest step's output is kept, beside a dict's items.
Recording renewed_outputs(StructureType type, std::int64_t gained) {
  auto recording = ring_and_list(16, gained, true);
  recording.pass.young_steps = 2;
  recording.holders.front().structure = {.type = type};
  for (auto& survivor : recording.survivors) survivor.birth_step = 4;
  return recording;
}

TEST(SuspectsTest, FindsWhatIsRenewedInAContainerThatGrows) {
  const auto recording = renewed_outputs(StructureType::unbounded, 4);
  EXPECT_EQ(renewed_storages(recording, kHost).size(), 4U);
  EXPECT_TRUE(renewed_storages(recording, {DeviceType::cuda, 0}).empty());
}

TEST(SuspectsTest, FindsNothingRenewedWhereNothingGrowsOrThatEnds) {
  EXPECT_TRUE(renewed_storages(renewed_outputs(StructureType::unbounded, 0), kHost).empty());
  EXPECT_TRUE(renewed_storages(renewed_outputs(StructureType::reset, 4), kHost).empty());
  EXPECT_TRUE(renewed_storages(renewed_outputs(StructureType::keyed, 4), kHost).empty());
  auto recording = renewed_outputs(StructureType::unbounded, 4);
  for (auto& survivor : recording.survivors) survivor.birth_step = 1;
  EXPECT_TRUE(renewed_storages(recording, kHost).empty());  // it stays
}

// A table that an attribute has is made anew, beside what lies in a container that grows.
TEST(SuspectsTest, LeavesOutWhatIsInTheOnlyPlaceOfAnObjectThatWasThere) {
  auto recording = ring_and_list(16, 4, false);
  recording.holders.push_back({.path = {0}, .held = 1, .structure = {.type = StructureType::unknown, .bound = 1}});
  for (auto& survivor : recording.survivors) survivor.holder = survivor.holder < 0 ? 1 : 0;
  EXPECT_EQ(holders_of(recording), std::vector<int>(4, 0));
  recording.holders.back().structure = {};
  EXPECT_EQ(holders_of(recording).size(), 8U);
  recording.holders.back() = {.path = {0}, .held = 1, .graph = 1, .structure = {StructureType::unknown, 1}};
  EXPECT_EQ(holders_of(recording).size(), 8U);
}

struct GrowthCase {
  double per_step;
  std::int64_t period;
  const char* text;
  std::int64_t gap = 1;
};

class GrowthTextTest : public ::testing::TestWithParam<GrowthCase> {};

TEST_P(GrowthTextTest, SpeaksOfWholeThingsAndWholeSteps) {
  const auto growth = growth_text(GetParam().per_step, GetParam().period, "block", GetParam().gap);
  EXPECT_EQ(growth.count + " of " + growth.every, GetParam().text);
  EXPECT_EQ(growth.is_one, growth.count == "1 block");
}

INSTANTIATE_TEST_SUITE_P(Suspects, GrowthTextTest,
                         ::testing::Values(GrowthCase{1, 1, "1 block of every step"},
                                           GrowthCase{3, 0, "3 blocks of every step"},
                                           GrowthCase{0.05, 20, "1 block of every 20 steps"},
                                           GrowthCase{0.05, 0, "1 block of every 20 steps"},
                                           GrowthCase{5.92, 50, "296 blocks of every 50 steps"},
                                           GrowthCase{5.92, 0, "5.92 blocks of every step on average"},
                                           GrowthCase{0.11, 0, "1 block of every 9 steps or so"},
                                           GrowthCase{1.5, 2, "3 blocks of every 2 steps"},
                                           GrowthCase{0.36, 0, "9 blocks of every 25 steps", 25},
                                           GrowthCase{0.33, 0, "8.25 blocks of every 25 steps or so", 25},
                                           GrowthCase{1, 0, "25 blocks of every 25 steps", 25},
                                           GrowthCase{5.92, 50, "296 blocks of every 50 steps", 25},
                                           GrowthCase{0.02, 0, "1 block of every 50 steps", 25}));

TEST(GapBetweenKeptTest, IsToldByTwoStepsOfWhichMostKeptNothing) {
  EXPECT_EQ(gap_between_kept({.kept_count = 3, .explained_steps = 75}), 25);
  EXPECT_EQ(gap_between_kept({.kept_count = 2, .explained_steps = 27}), 14);
  EXPECT_EQ(gap_between_kept({.kept_count = 1, .explained_steps = 27}), 1);
  EXPECT_EQ(gap_between_kept({.kept_count = 10, .explained_steps = 16}), 1);
  EXPECT_EQ(gap_between_kept({}), 1);
}

}  // namespace
}  // namespace stepleak
