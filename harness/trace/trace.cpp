// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/trace/trace.hpp"

#include <algorithm>

#include "harness/base/errors.hpp"

namespace stepleak {

Trace::Trace(const TraceFacts& facts, const std::vector<SeriesKey>& keys) : facts_(facts) {
  for (const auto& key : keys) ledgers_.emplace_back(key);
}

void Trace::add_boundary(std::span<const std::int64_t> row) {
  STEPLEAK_EXPECTS(row.size() == ledgers_.size());
  ++step_count_;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] != kUnread) ledgers_[i].add(step_count_, row[i]);
  }
}

void Trace::begin_pass(Pass pass) {
  pass.first_step = step_count_ + 1;
  // A pass of no steps was none.
  if (passes_.back().first_step == pass.first_step) passes_.pop_back();
  passes_.push_back(pass);
}

void Trace::add_look(std::vector<CohortTable> cohorts) { looks_.push_back({step_count_, std::move(cohorts)}); }

void Trace::add_recording(Recording recording) { recordings_.push_back(std::move(recording)); }

void Trace::add_collector_state(bool is_enabled) {
  if (is_enabled != is_collector_enabled()) collector_changes_.push_back({step_count_, is_enabled});
}

void Trace::add_mark(Mark mark) {
  if (marks_.size() < kMostMarks && std::find(marks_.begin(), marks_.end(), mark) == marks_.end()) {
    marks_.push_back(mark);
  }
}

void Trace::reserve(std::int64_t boundaries) {
  for (auto& ledger : ledgers_) ledger.reserve(boundaries);
}

const Ledger* Trace::ledger(const SeriesKey& key) const {
  const auto found = std::find_if(ledgers_.begin(), ledgers_.end(), [&](const Ledger& l) { return l.key() == key; });
  return found == ledgers_.end() ? nullptr : &*found;
}

std::vector<std::int64_t> Trace::series(const SeriesKey& key) const {
  const auto* found = ledger(key);
  return found == nullptr ? std::vector<std::int64_t>() : found->held(1, step_count_);
}

std::vector<Device> Trace::devices() const {
  std::vector<Device> result;
  for (const auto& ledger : ledgers_) {
    const auto device = ledger.key().device;
    if (std::find(result.begin(), result.end(), device) == result.end()) result.push_back(device);
  }
  std::sort(result.begin(), result.end());
  return result;
}

const CohortTable* Trace::cohorts_of(Device device) const {
  if (looks_.empty()) return nullptr;
  const auto& tables = looks_.back().cohorts;
  const auto found = std::find_if(tables.begin(), tables.end(), [&](const auto& t) { return t.device == device; });
  return found == tables.end() ? nullptr : &*found;
}

const Recording& Trace::recording() const {
  static const Recording kNone;
  const auto proves = [](const Recording& recording) { return recording.proof_steps() > 0; };
  const auto newest = std::find_if(recordings_.rbegin(), recordings_.rend(), proves);
  if (newest == recordings_.rend()) return recordings_.empty() ? kNone : recordings_.back();
  const bool is_lost = newest->steps < newest->pass.planned_steps && newest->holders.empty();
  const auto earlier = std::find_if(std::next(newest), recordings_.rend(), [&](const Recording& recording) {
    return proves(recording) && !recording.holders.empty();
  });
  return is_lost && earlier != recordings_.rend() ? *earlier : *newest;
}

bool Trace::is_collector_enabled() const { return collector_changes_.empty() || collector_changes_.back().is_enabled; }

}  // namespace stepleak
