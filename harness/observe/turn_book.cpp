// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/observe/turn_book.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <ranges>
#include <span>
#include <utility>

#include "harness/probes/step_clock.hpp"

namespace stepleak {
namespace {

// So much room is made at once: where it grew turn by turn, the host heap that is measured would grow with it.
constexpr std::size_t kReservedTurns = std::size_t{1} << 16;

struct Containment {
  Counter whole;
  Counter part;
};

// Of one device, each part before what it is a part of.
constexpr std::array kContainments{
    Containment{Counter::heap_bytes, Counter::live_bytes},
    Containment{Counter::active_bytes, Counter::live_bytes},
    Containment{Counter::reserved_bytes, Counter::active_bytes},
};

}  // namespace

TurnBook::TurnBook(std::vector<Probe*> probes, StackSource& stacks, BirthSource births)
    : probes_(std::move(probes)), stacks_(stacks), births_(std::move(births)) {
  turns_.reserve(kReservedTurns);
  for (const auto* probe : probes_) {
    const auto own = probe->keys();
    keys_.insert(keys_.end(), own.begin(), own.end());
    key_counts_.push_back(own.size());
  }
  const auto column_of = [this](const SeriesKey& key) { return std::find(keys_.begin(), keys_.end(), key); };
  for (const auto& [whole, part] : kContainments) {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i].counter != whole) continue;
      const auto of_part = column_of({part, keys_[i].device, keys_[i].moment});
      if (of_part != keys_.end()) parts_.push_back({i, static_cast<std::size_t>(of_part - keys_.begin())});
    }
  }
  current_step = 0;
  for (auto* probe : probes_) probe->start();
}

TurnBook::~TurnBook() {
  for (auto* probe : probes_) probe->stop();
}

std::vector<std::int64_t> TurnBook::begin_turn(const Turn& turn) {
  const auto number = static_cast<std::int64_t>(turns_.size());
  if (ended_ && recording_pieces_ > 0 && number >= record_on_) {
    ended_.reset();
    start_recording();
  }
  turns_.push_back(turn);
  current_step.store(number, std::memory_order_relaxed);
  // Before, for a peak to be that of the turn; after, since a reading ends a step.
  for (auto* probe : probes_) probe->begin_step(number);
  auto row = read();
  for (auto* probe : probes_) probe->begin_step(number);
  return row;
}

std::vector<std::int64_t> TurnBook::read() {
  std::vector<std::int64_t> row(keys_.size(), kUnread);
  for (auto* probe : probes_) probe->settle();
  // A first reading drops what probes keep of a turn, as references to what has died: that is no turn's memory, and
  // would never be seen to be given back, since that is between two turns.
  for (const auto moment : {Moment::after_collection, Moment::before_collection, Moment::after_collection}) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < probes_.size(); ++i) {
      probes_[i]->read(moment, std::span(row).subspan(begin, key_counts_[i]));
      begin += key_counts_[i];
    }
  }
  for (const auto& [whole, part] : std::views::reverse(parts_)) {
    if (row[whole] != kUnread && row[part] != kUnread) row[whole] -= row[part];
  }
  return row;
}

void TurnBook::add_parts(std::vector<std::int64_t>& values) const {
  for (const auto& [whole, part] : parts_) {
    if (values[whole] != kUnread && values[part] != kUnread) values[whole] += values[part];
  }
}

std::vector<CohortTable> TurnBook::cohorts() {
  std::vector<CohortTable> tables;
  for (auto* probe : probes_) probe->read_cohorts(tables);
  return tables;
}

std::set<int> TurnBook::keepers() {
  constexpr std::size_t kFewest = 8;  // of a piece's steps, as few as a trend takes
  std::map<int, std::set<std::int64_t>> kept;
  for (const auto& table : cohorts()) {
    for (const auto& cohort : table.cohorts) {
      const auto& turn = this->turn(cohort.birth_step);
      if (cohort.blocks > 0 && turn.step > 0) kept[turn.piece].insert(turn.step);
    }
  }
  std::map<int, std::int64_t> newest;
  for (const auto& turn : turns_) newest[turn.piece] = std::max(newest[turn.piece], turn.step);
  std::set<int> keepers;
  for (const auto& [piece, steps] : kept) {
    const auto end = steps.lower_bound(newest[piece] - 1);
    if (std::distance(steps.begin(), end) >= static_cast<std::ptrdiff_t>(kFewest)) keepers.insert(piece);
  }
  return keepers;
}

void TurnBook::start_recording() {
  for (auto* probe : probes_) {
    probe->begin_record(pass_);
    probe->record_stacks(true);
  }
}

void TurnBook::begin_record(const Pass& pass) {
  ended_.reset();
  if (++recording_pieces_ > 1) return;
  record_from_ = static_cast<std::int64_t>(turns_.size());
  pass_ = pass;
  start_recording();
}

const TurnBook::Record& TurnBook::end_record(std::int64_t young_from) {
  --recording_pieces_;
  if (ended_) return *ended_;
  const auto steps = static_cast<std::int64_t>(turns_.size()) - record_from_;
  const auto young = static_cast<std::int64_t>(turns_.size()) - young_from;
  ended_.emplace();
  ended_->recording.pass = {
      .type = PassType::record, .first_step = record_from_, .planned_steps = steps, .young_steps = young};
  ended_->recording.steps = steps;
  for (auto* probe : probes_) probe->record_stacks(false);
  for (auto* probe : probes_) probe->end_record(ended_->recording);
  ended_->stacks = stacks_.take_stacks();
  // Those that began in the same round end in the same, and share it; one that began later is recorded on.
  record_on_ = static_cast<std::int64_t>(turns_.size()) + young;
  return *ended_;
}

}  // namespace stepleak
