// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/observe/turn_book.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "harness/probes/step_clock.hpp"

namespace stepleak {
namespace {

// So much room is made at once: where it grew turn by turn, the host heap that is measured would grow with it.
constexpr std::size_t kReservedTurns = std::size_t{1} << 16;

}  // namespace

TurnBook::TurnBook(std::vector<Probe*> probes, StackSource& stacks, BirthSource births)
    : probes_(std::move(probes)), stacks_(stacks), births_(std::move(births)) {
  turns_.reserve(kReservedTurns);
  for (const auto* probe : probes_) {
    const auto own = probe->keys();
    keys_.insert(keys_.end(), own.begin(), own.end());
    key_counts_.push_back(own.size());
  }
  current_step = 0;
  for (auto* probe : probes_) probe->start();
}

TurnBook::~TurnBook() {
  for (auto* probe : probes_) probe->stop();
}

void TurnBook::begin_turn(const Turn& turn) {
  const auto number = static_cast<std::int64_t>(turns_.size());
  if (ended_ && recording_pieces_ > 0 && number >= record_on_) {
    ended_.reset();
    start_recording();
  }
  turns_.push_back(turn);
  for (auto* probe : probes_) probe->begin_step(number);
  current_step.store(number, std::memory_order_relaxed);
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
  return row;
}

std::vector<CohortTable> TurnBook::cohorts() {
  std::vector<CohortTable> tables;
  for (auto* probe : probes_) probe->read_cohorts(tables);
  return tables;
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
