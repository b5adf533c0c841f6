// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Containers that hold as many entries as they may, whose bytes still rise.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <utility>

#include "detectors/growth/growth_detector.hpp"
#include "harness/analyse/record_outcome.hpp"
#include "tests/support/analysed.hpp"
#include "tests/support/draws.hpp"
#include "tests/support/synthetic_run.hpp"
#include "tests/support/trace_builder.hpp"

namespace stepleak {
namespace {

constexpr std::size_t kBound = 55;

// One entry every second step, of the size that `size` says of the step.
Result run_full(const std::function<std::int64_t(std::int64_t)>& size, Effort effort) {
  const auto step = [=, kept = std::deque<SyntheticMemory::Block>()](std::int64_t step,
                                                                     SyntheticMemory& memory) mutable {
    if (step % 2 != 0) return;
    kept.push_back(memory.keep(size(step)));
    if (kept.size() <= kBound) return;
    memory.drop(kept.front());
    kept.pop_front();
  };
  return run_synthetic({.step = step, .structure = {.type = StructureType::bounded, .bound = kBound}},
                       {.policy = policy_of(effort)});
}

// Of these draws the sizes rise by chance for a while.
TEST(FullContainerTest, IsNoLeakWhereItsSizesVary) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const auto result =
        run_full([draws = Draws(seed)](std::int64_t) mutable { return draws.between(1, 4); }, Effort::quick);
    EXPECT_NE(result.verdict, Verdict::leak) << seed;
  }
}

TEST(FullContainerTest, IsALeakWhereEachEntryIsLargerThanTheLast) {
  EXPECT_EQ(run_full([](std::int64_t step) { return 64 * step; }, Effort::standard).verdict, Verdict::leak);
}

// A history of 300 at most, of which the older half goes then: what follows a fill is a tooth of 150 steps, not flat.
TEST(FullContainerTest, IsFilledOnceWhereItIsCutTimeAndAgain) {
  const auto step = [kept = std::deque<SyntheticMemory::Block>()](std::int64_t, SyntheticMemory& memory) mutable {
    kept.push_back(memory.keep(512));
    if (kept.size() <= 300) return;
    for (int i = 0; i < 151; ++i) {
      memory.drop(kept.front());
      kept.pop_front();
    }
  };
  const auto result = run_synthetic({.step = step, .structure = {.type = StructureType::bounded, .bound = 300}});
  EXPECT_EQ(result.verdict, Verdict::clean) << result.reason;
  const auto& passes = result.trace.passes();
  EXPECT_EQ(std::count_if(passes.begin(), passes.end(), [](const Pass& pass) { return pass.type == PassType::fill; }),
            1);
}

// A replay of whole episodes of 10 to 40 frames, one each fourth step, which holds `most` frames of a step: what drops
// the oldest asks for frames, which nobody can tell from time.
Result run_replay(const std::function<std::int64_t(std::int64_t)>& most, std::uint64_t seed) {
  constexpr std::int64_t kFrameBytes = 64;
  const auto step = [=, draws = Draws(seed), frames = std::int64_t{0},
                     kept = std::deque<std::pair<SyntheticMemory::Block, std::int64_t>>()](
                        std::int64_t step, SyntheticMemory& memory) mutable {
    if (step % 4 != 0) return;
    const auto count = draws.between(10, 40);
    kept.emplace_back(memory.keep(kFrameBytes * count), count);
    for (frames += count; frames > most(step); kept.pop_front()) {
      memory.drop(kept.front().first);
      frames -= kept.front().second;
    }
  };
  return run_synthetic({.step = step, .structure = {.type = StructureType::expiring}});
}

// Full at step 240 or so, it has risen in each of four windows at the look that may call a leak.
TEST(FullContainerTest, IsNoLeakWhereWhatDropsTheOldHasLatelyBegun) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    EXPECT_NE(run_replay([](std::int64_t) { return 1500; }, seed).verdict, Verdict::leak) << seed;
  }
}

TEST(FullContainerTest, IsALeakWhereLessIsDroppedThanComes) {
  int leaks = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    leaks += run_replay([](std::int64_t step) { return 5 * step; }, seed).verdict == Verdict::leak ? 1 : 0;
  }
  EXPECT_GE(leaks, 20);
}

// A block in each step of which by and by as many are dropped: those of the earlier half of all steps, or each second
// one of the later.
Result run_dropping(bool drops_old) {
  const auto step = [=, kept = std::deque<SyntheticMemory::Block>()](std::int64_t step,
                                                                     SyntheticMemory& memory) mutable {
    kept.push_back(memory.keep(512));
    if (step % 2 != 0) return;
    memory.drop(drops_old ? kept.front() : kept.back());
    if (drops_old) {
      kept.pop_front();
    } else {
      kept.pop_back();
    }
  };
  return run_synthetic({.step = step, .structure = {.type = StructureType::conditional}});
}

TEST(FullContainerTest, IsWaitedForAsLongAsWhatHadLivedForLongIsDropped) {
  EXPECT_EQ(run_dropping(true).verdict, Verdict::inconclusive);
  EXPECT_EQ(run_dropping(false).verdict, Verdict::leak);
}

// A tree whose leaves are split, eight objects a step, until a step; its arrays lie in the heap, which settles later.
Verdict verdict_of_tree(std::int64_t fine_at) {
  const auto step = [=](std::int64_t step, SyntheticMemory& memory) {
    memory.take_objects(step <= fine_at ? 7 + step % 3 : step % 5 / 4);
    memory.take_heap(step <= fine_at ? 3000 : step <= fine_at + 60 ? 1300 : 0);
  };
  return run_synthetic({.step = step}).verdict;
}

TEST(FullContainerTest, IsNoLeakWhereItsObjectsHaveComeToRestInTheNewestWindow) {
  EXPECT_NE(verdict_of_tree(210), Verdict::leak);
  EXPECT_EQ(verdict_of_tree(5000), Verdict::leak);
}

// The 50 best of all samples, whose sizes rise until step 220.
Result run_best_of_all(std::uint64_t seed) {
  const auto step = [draws = Draws(seed), best = std::multimap<std::int64_t, SyntheticMemory::Block>()](
                        std::int64_t step, SyntheticMemory& memory) mutable {
    best.emplace(draws.between(0, 1'000'000), memory.keep(24 * (6 + 34 * std::min<std::int64_t>(step, 220) / 220)));
    if (best.size() <= 50) return;
    memory.drop(best.begin()->second);
    best.erase(best.begin());
  };
  return run_synthetic({.step = step, .structure = {.type = StructureType::unknown}});
}

// Eight buffers, of which each step makes one anew, by so many bytes larger.
Result run_buffers(std::uint64_t seed, std::int64_t least, std::int64_t most) {
  const auto step = [=, draws = Draws(seed), sizes = std::array<std::int64_t, 8>{},
                     buffers = std::array<SyntheticMemory::Block, 8>{}](std::int64_t step,
                                                                        SyntheticMemory& memory) mutable {
    const auto i = static_cast<std::size_t>(step % 8);
    if (sizes[i] > 0) memory.drop(buffers[i]);
    sizes[i] += draws.between(least, most);
    buffers[i] = memory.keep(sizes[i]);
  };
  return run_synthetic({.step = step, .structure = {.type = StructureType::unknown}});
}

TEST(FullContainerTest, IsNoLeakWhereLargerEntriesTakeThePlaceOfOthers) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    EXPECT_NE(run_best_of_all(seed).verdict, Verdict::leak) << seed;
  }
}

TEST(FullContainerTest, IsALeakWhereAsManyBuffersAreMadeLargerWithoutEnd) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    EXPECT_EQ(run_buffers(seed, 32, 96).verdict, Verdict::leak) << seed;
    EXPECT_EQ(run_buffers(seed, 64, 64).verdict, Verdict::leak) << seed;
  }
}

// A deque of a million entries of 64 KiB each: it is full at 61 GiB.
TEST(FullContainerTest, IsALeakWhereTheMachineIsFullBefore) {
  constexpr std::int64_t kGiB = 1 << 30;
  const auto run_on = [](std::int64_t host_bytes) {
    return run_synthetic({.step = [](std::int64_t, SyntheticMemory& memory) { memory.keep(65536); },
                          .structure = {.type = StructureType::bounded, .bound = 1'000'000}},
                         {.host_bytes = host_bytes});
  };
  const auto beyond = run_on(32 * kGiB);
  EXPECT_EQ(beyond.verdict, Verdict::leak);
  ASSERT_FALSE(beyond.notes.empty());
  EXPECT_NE(beyond.notes.front().find("more than the 32.0 GiB of cpu"), std::string::npos) << beyond.notes.front();
  EXPECT_EQ(run_on(128 * kGiB).verdict, Verdict::inconclusive);
  EXPECT_EQ(run_on(0).verdict, Verdict::inconclusive);
}

// Half a KiB with its block, which the first holder has.
void keep_tensor(TraceBuilder& builder, std::int64_t step) {
  Survivor kept{.type = SurvivorType::tensor, .birth_step = step};
  kept.storage = static_cast<std::uint64_t>(step);
  kept.bytes = kept.storage_bytes = 512;
  kept.holder = 0;
  builder.with_survivor(kept);
  kept.type = SurvivorType::block;
  builder.with_survivor(kept);
}

// However many entries a step has, the bound is one of entries.
TEST(FullContainerTest, HoldsAsManyEntriesAsItsBoundWhereItIsFull) {
  for (const std::int64_t entries : {1, 4}) {
    TraceBuilder builder(274);
    builder.with({Counter::live_bytes}, [=](auto step) { return 512 * entries * step; })
        .with({Counter::live_blocks}, [=](auto step) { return entries * step; })
        .with_object({.type = "deque", .length = 274 * entries, .bound = 100'000})
        .with_holder({.held = 0,
                      .container = 0,
                      .structure = {.type = StructureType::bounded, .bound = 100'000},
                      .gained_entries = 18 * entries});
    for (std::int64_t step = 257; step <= 274; ++step) keep_tensor(builder, step);
    const auto outcome = Analysed(builder.recorded(18).build()).outcome(GrowthDetector());
    EXPECT_EQ(outcome.type, RecordOutcome::Type::bounded);
    EXPECT_NEAR(outcome.bytes_when_full, 512.0 * 100'000, 512.0 * 1'000) << entries;
  }
}

// On a GPU births are recorded in each seventh step. A container of a C++ program is known by these alone.
TEST(FullContainerTest, FillsAtTheRateOfTheRecordedSteps) {
  constexpr std::int64_t kStride = 7;
  TraceBuilder builder(61);
  builder.with({Counter::live_bytes}, [](auto step) { return 512 * step; })
      .with({Counter::live_blocks}, [](auto step) { return step; })
      .with_object({.type = "std::vector<Transition>"})
      .with_holder({.held = 0,
                    .container = 0,
                    .structure = {.type = StructureType::bounded, .bound = 240},
                    .gained_entries = 5,
                    .is_of_sources = true});
  for (std::int64_t step = 33; step <= 61; step += kStride) {
    Survivor kept{.type = SurvivorType::block, .birth_step = step};
    kept.storage = static_cast<std::uint64_t>(step);
    kept.bytes = kept.storage_bytes = 512;
    kept.holder = 0;
    builder.with_survivor(kept);
  }
  const auto outcome = Analysed(builder.recorded(29, kStride).build()).outcome(GrowthDetector());
  EXPECT_EQ(outcome.type, RecordOutcome::Type::bounded);
  EXPECT_EQ(outcome.held, 61);
  EXPECT_EQ(outcome.full_at, 240);
}

// The last look leaves no room for a record pass, and a shorter one would prove nothing.
TEST(FullContainerTest, RecordsNoPassThatIsTooShortToProve) {
  const auto result = run_full([draws = Draws(1)](std::int64_t) mutable { return draws.between(1, 4); }, Effort::quick);
  for (const auto& recording : result.trace.recordings()) EXPECT_GE(recording.steps, kShortestRecord);
  EXPECT_FALSE(result.trace.recordings().empty());
}

// Of a record pass from step 257 on, of each step of which one block survives.
RecordOutcome::Type outcome_of(TraceBuilder& builder) {
  builder.recorded(18);
  for (std::int64_t step = 257; step <= 274; ++step) {
    builder.with_survivor({.type = SurvivorType::block, .birth_step = step, .bytes = 512, .storage_bytes = 512});
  }
  return Analysed(builder.build()).outcome(GrowthDetector()).type;
}

// Rounds of twelve steps, each with an inbox that it drops; clients that come for the first time keep blocks.
TEST(FullContainerTest, HasSlowedWhereWhatRisesAndFallsStaysWithinWhatItWas) {
  const auto outcome_of_rounds = [](std::int64_t last) {
    TraceBuilder builder(362);
    const auto blocks = [=](std::int64_t step) { return 5 * std::min(step / 12, last) + 3 * (step % 12); };
    builder.with({Counter::live_bytes}, [=](auto step) { return 512 * blocks(step); })
        .with({Counter::live_blocks}, blocks)
        .recorded(106);
    for (std::int64_t step = 300; step < 306; ++step) {
      builder.with_survivor({.type = SurvivorType::block, .birth_step = step, .bytes = 512, .storage_bytes = 512});
    }
    return Analysed(builder.build()).outcome(GrowthDetector()).type;
  };
  EXPECT_EQ(outcome_of_rounds(18), RecordOutcome::Type::slowed);
  EXPECT_EQ(outcome_of_rounds(40), RecordOutcome::Type::open);
}

// A map of 220 entries, whose nodes are malloc's: a record pass moves the heap, and tells nothing of it.
TEST(FullContainerTest, HasStoppedWhateverTheHeapSays) {
  const auto outcome_of_entries = [](std::int64_t last) {
    TraceBuilder builder(274);
    const auto entries = [=](std::int64_t step) { return std::min(step, last); };
    builder.with({Counter::live_bytes}, [=](auto step) { return 512 * entries(step); })
        .with({Counter::live_blocks}, entries)
        .with({Counter::heap_bytes}, [=](auto step) { return 800 * entries(step); });
    return outcome_of(builder);
  };
  EXPECT_EQ(outcome_of_entries(220), RecordOutcome::Type::contradicted);
  EXPECT_EQ(outcome_of_entries(274), RecordOutcome::Type::open);
}

// A deque of some Python objects for each entry. The collector's count rises on as those die that were set apart before
// the record pass, and their deaths are told beside it.
TEST(FullContainerTest, HasStoppedWhereObjectsTakeThePlaceOfOthers) {
  const auto outcome_of_entries = [](std::int64_t last) {
    TraceBuilder builder(274);
    const auto entries = [=](std::int64_t step) { return std::min(step, last); };
    builder.with({Counter::python_objects}, [](auto step) { return 24 * step; })
        .with({Counter::frozen_deaths}, [=](auto step) { return 24 * (step - entries(step)); })
        .with({Counter::python_blocks}, [=](auto step) { return 16 * entries(step); })
        .with({Counter::heap_bytes}, [=](auto step) { return 1600 * entries(step); });
    return outcome_of(builder);
  };
  EXPECT_EQ(outcome_of_entries(220), RecordOutcome::Type::contradicted);
  EXPECT_EQ(outcome_of_entries(274), RecordOutcome::Type::open);
}

// What the recorded steps left lies where one was before: what has grown so far is something else, unless it is larger
// each time.
TEST(FullContainerTest, IsRefutedWhereThereIsOnePlaceOnly) {
  const auto outcome_of_places = [](std::int64_t places, bool is_larger) {
    TraceBuilder builder(274);
    builder.with({Counter::live_bytes}, [](auto step) { return 512 * step; })
        .with({Counter::live_blocks}, [=](auto step) { return is_larger ? 1 : step; })
        .with_object({.type = "Parameter", .length = places})
        .with_holder({.held = 0, .container = 0, .structure = {.type = StructureType::bounded, .bound = places}})
        .recorded(18);
    for (std::int64_t step = 257; step <= 262; ++step) keep_tensor(builder, step);
    return Analysed(builder.build()).outcome(GrowthDetector()).type;
  };
  EXPECT_EQ(outcome_of_places(1, false), RecordOutcome::Type::contradicted);
  EXPECT_NE(outcome_of_places(1, true), RecordOutcome::Type::contradicted);
  EXPECT_NE(outcome_of_places(24, false), RecordOutcome::Type::contradicted);
}

// A table that is full, beside a list that takes four numbers a step, both weighed over 18 recorded steps.
TEST(FullContainerTest, IsOutweighedByOneThatTakesEntries) {
  const auto is_outweighed_by = [](std::int64_t own_entries, Holder list, bool has_gained) {
    Recording recording{.steps = 18};
    recording.holders = {{.held = 0,
                          .container = 0,
                          .structure = {.type = StructureType::bounded, .bound = 120},
                          .gained_entries = own_entries},
                         std::move(list)};
    const Finding own{.kind = Kind::growth, .bytes_per_step = 24, .holder_index = 0};
    const Finding other{.kind = Kind::host_heap, .holder_index = 1, .has_gained = has_gained};
    return is_outweighed(recording, own, {own, other});
  };
  const Holder list{.held = 1, .container = 1, .gained_entries = 72, .gained_block_bytes = 2304};
  EXPECT_TRUE(is_outweighed_by(0, list, true));
  EXPECT_FALSE(is_outweighed_by(2, list, true));
  EXPECT_FALSE(is_outweighed_by(0, list, false));
  auto other = list;
  other.gained_block_bytes = 400;
  EXPECT_FALSE(is_outweighed_by(0, other, true));
  other = list;
  other.structure.type = StructureType::bounded;
  EXPECT_FALSE(is_outweighed_by(0, other, true));
}

}  // namespace
}  // namespace stepleak
