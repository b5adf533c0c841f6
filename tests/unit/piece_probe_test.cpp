// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/observe/piece_probe.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "harness/probes/step_clock.hpp"

namespace stepleak {
namespace {

constexpr Device kGpu{DeviceType::cuda, 0};
constexpr SeriesKey kLive{Counter::live_bytes, kGpu};
constexpr SeriesKey kActive{Counter::active_bytes, kGpu};
constexpr SeriesKey kReserved{Counter::reserved_bytes, kGpu};

/// An allocator that hands out blocks of one size from a segment of eight, and gives no segment back.
class Segments final : public Probe {
 public:
  static constexpr std::int64_t kBlock = 512;

  [[nodiscard]] std::string_view name() const override { return "segments"; }
  [[nodiscard]] std::vector<SeriesKey> keys() const override { return {kLive, kActive, kReserved}; }
  void read(Moment /*moment*/, std::span<std::int64_t> row) override {
    row[0] = static_cast<std::int64_t>(births_.size()) * kBlock;
    row[1] = row[0] + waiting_;
    reserved_ = std::max(reserved_, (row[1] + 8 * kBlock - 1) / (8 * kBlock) * (8 * kBlock));
    row[2] = reserved_;
  }
  void read_cohorts(std::vector<CohortTable>& tables) override {
    CohortTable table{kGpu, current_step, {}};
    std::map<std::int64_t, std::int64_t> counts;
    for (const auto step : births_) ++counts[step];
    for (const auto& [step, count] : counts) table.cohorts.push_back({step, count * kBlock, count});
    tables.push_back(std::move(table));
  }

  void make() { births_.push_back(current_step); }
  void free_oldest() { births_.erase(births_.begin()); }
  void wait() { waiting_ += kBlock; }

 private:
  std::vector<std::int64_t> births_;
  std::int64_t waiting_ = 0;
  std::int64_t reserved_ = 0;
};

class NoStacks final : public StackSource {
 public:
  [[nodiscard]] std::vector<RawStack> take_stacks() override { return {}; }
};

/// Of each round what two pieces come to, whose turns do `first` and `second`.
template <typename First, typename Second>
std::vector<std::map<SeriesKey, std::int64_t>> ledgers_of(int rounds, const First& first, const Second& second) {
  Segments segments;
  NoStacks stacks;
  TurnBook book({&segments}, stacks, [] { return BirthCounts(); });
  PieceProbe one(book, 1, nullptr);
  PieceProbe other(book, 2, nullptr);
  std::vector<std::map<SeriesKey, std::int64_t>> result(2);
  const auto turn = [&](PieceProbe& probe, int round, const auto& work, auto& into) {
    probe.begin_step(round);
    work(segments);
    std::vector<std::int64_t> row(probe.keys().size());
    probe.read(Moment::before_collection, row);
    probe.read(Moment::after_collection, row);
    for (std::size_t i = 0; i < row.size(); ++i) into[probe.keys()[i]] = row[i];
  };
  for (int round = 1; round <= rounds; ++round) {
    turn(one, round, first, result[0]);
    turn(other, round, second, result[1]);
  }
  return result;
}

constexpr auto kNothing = [](Segments&) {};
constexpr auto kMakes = [](Segments& segments) { segments.make(); };

TEST(PieceProbeTest, LeavesToNobodyWhatAnotherPieceFrees) {
  const auto ledgers = ledgers_of(64, kMakes, [](Segments& segments) { segments.free_oldest(); });
  for (const auto& piece : ledgers) {
    EXPECT_EQ(piece.at(kLive), piece.at(kActive));
    EXPECT_LE(piece.at(kReserved), 8 * Segments::kBlock);
  }
}

// The hole that one piece's leak takes was another's: the segment that it needs in its place is of the first one's
// need.
TEST(PieceProbeTest, CountsASegmentWithTheBlocksThatFillIt) {
  const auto ledgers = ledgers_of(64, kMakes, [](Segments& segments) {
    segments.make();
    segments.free_oldest();
  });
  EXPECT_LE(ledgers[1].at(kReserved) - ledgers[1].at(kLive), 8 * Segments::kBlock);
}

TEST(PieceProbeTest, CountsWhatWaitsWhereItWasFreed) {
  const auto ledgers = ledgers_of(
      64, [](Segments& segments) { segments.wait(); }, kNothing);
  EXPECT_EQ(ledgers[0].at(kActive), 64 * Segments::kBlock);
  EXPECT_EQ(ledgers[1].at(kActive) - ledgers[1].at(kLive), Segments::kBlock);  // as it was at its first turn
}

TEST(TurnBookTest, NamesThePiecesThatKeepMemoryOfManyTurns) {
  Segments segments;
  NoStacks stacks;
  TurnBook book({&segments}, stacks, [] { return BirthCounts(); });
  for (int round = 1; round <= 20; ++round) {
    (void)book.begin_turn({1, round});
    segments.make();
    (void)book.begin_turn({2, round});
    if (round < 8 || round > 18) segments.make();
  }
  EXPECT_EQ(book.keepers(), std::set{1});
}

/// A sum that moves by `difference` in each round, within a ledger that the round moves by `left`.
std::int64_t sum_after(int rounds, std::int64_t difference, std::int64_t left, std::int64_t ledger = 1000) {
  Enclosed enclosed;
  std::int64_t sum = 0;
  for (int round = 0; round < rounds; ++round) {
    // What is given back is so after the boundary.
    const auto at_the_boundary = ledger + difference;
    sum = enclosed.moved(sum, difference, at_the_boundary);
    enclosed.add(sum, at_the_boundary);
    ledger += left;
  }
  return sum;
}

TEST(EnclosedTest, CountsWhatStays) { EXPECT_EQ(sum_after(10, 8, 8), 80); }

TEST(EnclosedTest, CountsNoMoreThanOnceWhatIsGivenBackLater) { EXPECT_EQ(sum_after(10, 8, 0), 8); }

TEST(EnclosedTest, CountsThePartThatIsLeft) { EXPECT_EQ(sum_after(10, 8, 2), 8 + 9 * 2); }

TEST(EnclosedTest, CountsNoLossOfWhatAnotherRefills) { EXPECT_EQ(sum_after(10, -8, 0), -8); }

TEST(EnclosedTest, LeavesTheGrowthOfOthersAlone) { EXPECT_EQ(sum_after(10, 0, 100), 0); }

TEST(EnclosedTest, ForgetsALevelThatWasReachedBeforeIt) {
  Enclosed enclosed;
  enclosed.add(0, 0);
  enclosed.add(0, 100000);  // others have set up something large, and this one nothing
  EXPECT_EQ(enclosed.moved(0, 8, 100000), 0);
  EXPECT_EQ(enclosed.moved(0, 8, 100008), 8);
}

}  // namespace
}  // namespace stepleak
