// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "harness/observe/turn_book.hpp"

namespace stepleak {

/// What a group of pieces, as the tests of a suite, has moved the ledgers by, with what comes before and after them.
class GroupLedgers {
 public:
  explicit GroupLedgers(TurnBook& book) : book_(book) {}

  void begin() { start_ = book_.read(); }
  void end();
  /// Up to its last end; empty before.
  [[nodiscard]] const std::vector<std::int64_t>& moved() const { return moved_; }
  /// What its pieces' turns have added to a ledger, and something in it has given back. A growth by difference that is
  /// no larger may be what was given back, where the group grows all the same: no reading tells whose is left.
  [[nodiscard]] std::int64_t given_back(const SeriesKey& key) const;
  void add(const class PieceProbe& piece) { pieces_.push_back(&piece); }

 private:
  TurnBook& book_;
  std::vector<std::int64_t> start_;
  std::vector<std::int64_t> moved_;
  std::vector<const PieceProbe*> pieces_;
};

/// A sum of differences that moves no further than an enclosing ledger does, from any boundary to any later one.
class Enclosed {
 public:
  /// Of a sum that stands at `value` and moves by `difference`, what `enclosing` lets it stand at.
  [[nodiscard]] std::int64_t moved(std::int64_t value, std::int64_t difference, std::int64_t enclosing) const;
  void add(std::int64_t value, std::int64_t enclosing);

 private:
  bool is_empty_ = true;
  std::int64_t lowest_ = 0;  // of the sum above the ledger
  std::int64_t highest_ = 0;
};

/// The ledgers of one piece of work among several that take turns: what its own turns have added.
///
/// - Live bytes, blocks, nodes and tensors are those that were born in its turns, whoever frees them: exact.
/// - Of every other ledger, what it rose by from the start of each turn to its end, summed up; where another one is a
///   part of it, as live bytes are of those that are active, the rest of it is. A piece may leave to
///   another what that gives back (a test, what TearDownTestSuite clears), so from no boundary to a later one the sum
///   counts more than its group and the whole process have grown by, nor less than they have shrunk by.
/// - The peak is that of the turn, above where it began.
///
/// The other ledgers begin at the process's level: only what they rise by is the piece's.
class PieceProbe final : public Probe, public StackSource {
 public:
  /// All outlive the probe; `group`: null where it has none.
  PieceProbe(TurnBook& book, int piece, const GroupLedgers* group) : book_(book), piece_(piece), group_(group) {}

  [[nodiscard]] std::string_view name() const override { return "turns"; }
  [[nodiscard]] std::vector<SeriesKey> keys() const override { return book_.keys(); }
  /// Opens a turn of that step.
  void begin_step(std::int64_t step) override;
  /// Between begin_step() and the boundary: another piece's turn begins, and has ended.
  void pause();
  void resume();
  void read(Moment moment, std::span<std::int64_t> row) override;
  void read_cohorts(std::vector<CohortTable>& tables) override;
  void begin_record(const Pass& pass) override;
  void end_record(Recording& recording) override;
  /// What its turns have added to a ledger, whatever was given back since.
  [[nodiscard]] std::int64_t added(const SeriesKey& key) const;
  [[nodiscard]] const GroupLedgers* group() const { return group_; }
  /// Of its piece.
  [[nodiscard]] int number() const { return piece_; }
  [[nodiscard]] std::vector<RawStack> take_stacks() override { return std::exchange(stacks_, {}); }

 private:
  void begin_from(const std::vector<std::int64_t>& levels);
  void add_births(std::vector<std::int64_t>& values);
  void add_counts(std::vector<std::int64_t>& values);

  TurnBook& book_;
  int piece_;
  const GroupLedgers* group_;
  std::int64_t step_ = 0;
  std::int64_t young_from_ = 0;  // the turn in which the step before this one began
  std::int64_t began_ = 0;       // the turn in which this step began
  bool is_open_ = false;
  std::vector<std::int64_t> start_;  // where the open turn began
  std::vector<std::int64_t> own_;    // by how much its turns have moved them
  std::vector<std::int64_t> share_;  // what of that is left to it, above where its first turn began
  std::vector<Enclosed> in_process_;
  std::vector<Enclosed> in_group_;
  std::vector<std::int64_t> values_;  // of the last boundary
  std::vector<RawStack> stacks_;
};

}  // namespace stepleak
