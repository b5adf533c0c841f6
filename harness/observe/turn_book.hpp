// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "harness/probes/birth_counts.hpp"
#include "harness/probes/probe.hpp"
#include "harness/probes/raw_stack.hpp"

namespace stepleak {

/// One stretch of a piece of work: of its step so-and-so.
struct Turn {
  int piece = 0;
  std::int64_t step = 0;
};

/// The probes of a process in which several pieces of work take turns, each with a run of its own.
///
///   turn    1        2        3        4        5        ...     a birth's step is the number of its turn,
///   piece   outside  A        outside  B        outside          so it tells whose it is, whoever frees it
///   step    1        1        1        1        1
///
/// The probes are started once, and are read where a turn begins and where it ends. Not thread-safe.
class TurnBook {
 public:
  /// What else tells births: counts of the host, as of the last reading.
  using BirthSource = std::function<BirthCounts()>;

  /// All outlive the book. Turn 0 is the set-up: piece 0, step 0.
  TurnBook(std::vector<Probe*> probes, StackSource& stacks, BirthSource births);
  TurnBook(const TurnBook&) = delete;
  TurnBook& operator=(const TurnBook&) = delete;
  /// Detaches the probes.
  ~TurnBook();

  [[nodiscard]] const std::vector<SeriesKey>& keys() const { return keys_; }
  /// From now on births are of this turn. All ledgers as it begins, as read() gives them.
  [[nodiscard]] std::vector<std::int64_t> begin_turn(const Turn& turn);
  /// All ledgers, settled: what was freed in a turn is gone at its end. Of a ledger that has another one for a part
  /// of it, only the rest: what is reserved and not active, active and not live, the heap outside tensors.
  [[nodiscard]] std::vector<std::int64_t> read();
  /// Adds those parts again, to values of one piece.
  void add_parts(std::vector<std::int64_t>& values) const;
  /// What is alive, by the number of its turn.
  [[nodiscard]] std::vector<CohortTable> cohorts();
  [[nodiscard]] BirthCounts births() { return births_(); }
  /// Pieces of which at least eight turns have something alive, but for those of the newest round and the one before.
  [[nodiscard]] std::set<int> keepers();
  /// Of the turn that began last.
  [[nodiscard]] std::int64_t turn_number() const { return static_cast<std::int64_t>(turns_.size()) - 1; }
  [[nodiscard]] const Turn& turn(std::int64_t number) const { return turns_.at(static_cast<std::size_t>(number)); }

  /// Births of all turns are recorded from the first piece that asks on, until as many have ended; what that one's
  /// pass says is recorded.
  void begin_record(const Pass& pass);
  /// What was born in the turns since, and is alive; birth steps are numbers of turns. Pieces that end in the same
  /// round of turns share one. `young_from`: the number of the turn from which on births may still be in use.
  struct Record {
    Recording recording;
    std::vector<RawStack> stacks;
  };
  [[nodiscard]] const Record& end_record(std::int64_t young_from);

 private:
  void start_recording();

  std::vector<Probe*> probes_;
  StackSource& stacks_;
  BirthSource births_;
  std::vector<SeriesKey> keys_;
  std::vector<std::size_t> key_counts_;  // of each probe
  struct Part {
    std::size_t whole;
    std::size_t part;
  };
  std::vector<Part> parts_;  // columns; a whole comes after its own part
  std::vector<Turn> turns_{Turn{}};
  std::int64_t record_from_ = 0;
  std::int64_t record_on_ = 0;  // the turn from which on those that still record do so again
  int recording_pieces_ = 0;
  Pass pass_;  // of the first of them
  std::optional<Record> ended_;
};

}  // namespace stepleak
