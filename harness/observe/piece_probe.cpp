// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/observe/piece_probe.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace stepleak {
namespace {

std::int64_t column_of(const TurnBook& book, const SeriesKey& key, const std::vector<std::int64_t>& row) {
  const auto found = std::find(book.keys().begin(), book.keys().end(), key);
  const auto index = static_cast<std::size_t>(found - book.keys().begin());
  return index < row.size() ? row[index] : 0;
}

}  // namespace

std::int64_t GroupLedgers::given_back(const SeriesKey& key) const {
  std::int64_t added = 0;
  for (const auto* piece : pieces_) added += std::max<std::int64_t>(0, piece->added(key));
  return std::max<std::int64_t>(0, added - column_of(book_, key, moved_));
}

std::int64_t PieceProbe::added(const SeriesKey& key) const { return column_of(book_, key, own_); }

// From reading to reading, with what lies between turns: malloc's own caches hand memory from one to the other.
void GroupLedgers::end() {
  const auto now = book_.read();
  moved_.resize(now.size());
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i] != kUnread && start_[i] != kUnread) moved_[i] += now[i] - start_[i];
  }
}

std::int64_t Enclosed::moved(std::int64_t value, std::int64_t difference, std::int64_t enclosing) const {
  const auto wish = value + difference;
  if (is_empty_) return wish;
  if (difference >= 0) return std::clamp(lowest_ + enclosing, value, wish);
  return std::clamp(highest_ + enclosing, wish, value);
}

void Enclosed::add(std::int64_t value, std::int64_t enclosing) {
  const auto above = value - enclosing;
  lowest_ = is_empty_ ? above : std::min(lowest_, above);
  highest_ = is_empty_ ? above : std::max(highest_, above);
  is_empty_ = false;
}

void PieceProbe::begin_step(std::int64_t step) {
  step_ = step;
  resume();
  young_from_ = std::exchange(began_, book_.turn_number());
}

void PieceProbe::resume() {
  start_ = book_.begin_turn({piece_, step_});
  if (own_.empty()) begin_from(start_);
  is_open_ = true;
}

// Of what is reserved, say, no less than is active: a piece begins with what the process has.
void PieceProbe::begin_from(const std::vector<std::int64_t>& levels) {
  own_.resize(levels.size());
  in_process_.resize(levels.size());
  in_group_.resize(levels.size());
  share_ = levels;
  std::replace(share_.begin(), share_.end(), kUnread, std::int64_t{0});
}

void PieceProbe::pause() {
  if (!std::exchange(is_open_, false)) return;
  const auto now = book_.read();
  const auto& keys = book_.keys();
  values_.assign(now.size(), kUnread);
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (now[i] == kUnread || start_[i] == kUnread) continue;
    if (keys[i].counter == Counter::peak_bytes) {
      values_[i] = now[i] - start_[i];
      continue;
    }
    const auto here = now[i] - start_[i];
    own_[i] += here;
    // The group is not over: what it has moved before, and what this turn adds.
    const auto in_group = group_ == nullptr || group_->moved().empty() ? here : group_->moved()[i] + here;
    auto value = in_process_[i].moved(share_[i], here, now[i]);
    if (group_ != nullptr) value = in_group_[i].moved(share_[i], value - share_[i], in_group);
    in_process_[i].add(value, now[i]);
    in_group_[i].add(value, in_group);
    share_[i] = value;
    values_[i] = value;
  }
}

// Reads births where the boundary is: the same for both moments, since without an interpreter nothing is collected.
void PieceProbe::add_births(std::vector<std::int64_t>& values) {
  std::vector<CohortTable> tables;
  read_cohorts(tables);
  for (const auto& table : tables) {
    std::int64_t bytes = 0;
    std::int64_t blocks = 0;
    for (const auto& cohort : table.cohorts) {
      bytes += cohort.bytes;
      blocks += cohort.blocks;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto& key = book_.keys()[i];
      if (key.device != table.device) continue;
      if (key.counter == Counter::live_bytes) values[i] = bytes;
      if (key.counter == Counter::live_blocks) values[i] = blocks;
    }
  }
}

void PieceProbe::add_counts(std::vector<std::int64_t>& values) {
  const auto births = book_.births();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto counter = book_.keys()[i].counter;
    if (counter != Counter::live_nodes && counter != Counter::live_tensors) continue;
    values[i] = 0;
    const auto of_counter = births.find(counter);
    if (of_counter == births.end()) continue;
    for (const auto& [number, count] : of_counter->second) {
      if (book_.turn(number).piece == piece_) values[i] += count;
    }
  }
}

void PieceProbe::read(Moment moment, std::span<std::int64_t> row) {
  if (moment == Moment::before_collection) {
    pause();
    add_births(values_);
    add_counts(values_);
    book_.add_parts(values_);
  }
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (book_.keys()[i].moment == moment) row[i] = values_[i];
  }
}

void PieceProbe::read_cohorts(std::vector<CohortTable>& tables) {
  for (const auto& table : book_.cohorts()) {
    std::map<std::int64_t, Cohort> own;  // a step may have several turns
    for (const auto& cohort : table.cohorts) {
      const auto& turn = book_.turn(cohort.birth_step);
      if (turn.piece != piece_) continue;
      auto& sum = own[turn.step];
      sum.birth_step = turn.step;
      sum.bytes += cohort.bytes;
      sum.blocks += cohort.blocks;
    }
    CohortTable of_piece{table.device, step_, {}};
    for (const auto& [step, cohort] : own) of_piece.cohorts.push_back(cohort);
    tables.push_back(std::move(of_piece));
  }
}

void PieceProbe::begin_record(const Pass& pass) { book_.begin_record(pass); }

void PieceProbe::end_record(Recording& recording) {
  const auto& shared = book_.end_record(young_from_);
  std::map<int, int> stack_of;  // indices of the shared stacks that this piece's survivors point to
  for (auto survivor : shared.recording.survivors) {
    const auto& turn = book_.turn(survivor.birth_step);
    if (turn.piece != piece_) continue;
    survivor.birth_step = turn.step;
    if (survivor.stack >= 0) {
      const auto [entry, is_new] = stack_of.try_emplace(survivor.stack, static_cast<int>(stacks_.size()));
      if (is_new) stacks_.push_back(shared.stacks.at(static_cast<std::size_t>(survivor.stack)));
      survivor.stack = entry->second;
    }
    recording.survivors.push_back(std::move(survivor));
  }
}

}  // namespace stepleak
