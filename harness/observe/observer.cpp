// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/observe/observer.hpp"

#include <unistd.h>

#include <algorithm>
#include <span>
#include <utility>

#include "harness/probes/step_clock.hpp"

namespace stepleak {

Observer::Observer(ObserverParts parts) : parts_(std::move(parts)) {
  for (const auto* probe : parts_.probes) key_counts_.push_back(probe->keys().size());
  const auto all = keys();
  row_.resize(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].moment != Moment::before_collection) continue;
    const auto after = std::find(all.begin(), all.end(), SeriesKey{all[i].counter, all[i].device});
    if (after != all.end()) twice_.push_back({i, static_cast<std::size_t>(after - all.begin())});
  }
}

Observer::~Observer() { detach(); }

std::vector<SeriesKey> Observer::keys() const {
  std::vector<SeriesKey> keys;
  for (const auto* probe : parts_.probes) {
    const auto own = probe->keys();
    keys.insert(keys.end(), own.begin(), own.end());
  }
  return keys;
}

void Observer::attach() {
  attached_in_ = ::getpid();
  if (parts_.recorder != nullptr) parts_.recorder->begin(keys());
  current_step = 0;
  freeze_again();
  for (auto* probe : parts_.probes) probe->start();
}

void Observer::detach() noexcept {
  if (std::exchange(attached_in_, 0) != ::getpid()) return;
  if (is_recording_stacks_) {
    for (auto* probe : parts_.probes) probe->record_stacks(false);
  }
  is_recording_stacks_ = false;
  for (auto* probe : parts_.probes) probe->stop();
  is_frozen_ = false;
  if (parts_.collector != nullptr) parts_.collector->restore();
}

void Observer::begin_step(std::int64_t step, bool records_stacks) {
  current_step.store(step, std::memory_order_relaxed);
  if (parts_.recorder != nullptr) parts_.recorder->begin_step(step);
  record_stacks(records_stacks);
  for (auto* probe : parts_.probes) probe->begin_step(step);
}

void Observer::end_step(bool is_settled, Trace& trace) {
  if (is_settled) {
    for (auto* probe : parts_.probes) probe->settle();
  }
  std::fill(row_.begin(), row_.end(), kUnread);
  read(Moment::before_collection);
  const bool is_enabled = parts_.collector == nullptr || parts_.collector->is_enabled();
  const bool has_freed = parts_.collector != nullptr && parts_.collector->collect(is_settled);
  read(Moment::after_collection);
  // Where nothing was collected, what died in between died on another thread.
  for (const auto& [before, after] : has_freed ? std::span<const ReadTwice>() : std::span<const ReadTwice>(twice_)) {
    row_[before] = row_[after];
  }
  trace.add_boundary(row_);
  trace.add_collector_state(is_enabled);
  if (parts_.recorder != nullptr) parts_.recorder->add_row(row_);
  // The last step may have been a recorded one, and what follows is no step.
  if (is_settled) record_stacks(false);
}

void Observer::decide(std::int64_t step, const Policy& policy) noexcept {
  if (parts_.recorder != nullptr) parts_.recorder->decide(step, policy);
}

void Observer::withdraw() noexcept {
  if (parts_.recorder != nullptr) parts_.recorder->withdraw();
}

std::vector<CohortTable> Observer::cohorts() {
  std::vector<CohortTable> tables;
  for (auto* probe : parts_.probes) probe->read_cohorts(tables);
  return tables;
}

void Observer::begin_record(const Pass& pass) {
  for (auto* probe : parts_.probes) probe->begin_record(pass);
}

Recording Observer::end_record(const Pass& pass, std::int64_t steps) {
  record_stacks(false);
  Recording recording{.pass = pass, .steps = steps};
  // What had been set apart may be garbage by now, and with it all that it leads to.
  if (std::exchange(is_frozen_, false)) recording.set_apart_garbage = parts_.collector->collect_all();
  for (auto* probe : parts_.probes) probe->end_record(recording);
  return recording;
}

void Observer::freeze_again() {
  if (parts_.collector == nullptr || is_frozen_) return;
  parts_.collector->freeze();
  is_frozen_ = true;
}

void Observer::stop_freezing() {
  if (parts_.collector != nullptr) parts_.collector->stop_freezing();
}

Recording Observer::live_blocks() {
  Recording recording;
  for (auto* probe : parts_.probes) probe->read_blocks(recording);
  return recording;
}

void Observer::record_stacks(bool is_recording) {
  if (is_recording == is_recording_stacks_) return;
  is_recording_stacks_ = is_recording;
  for (auto* probe : parts_.probes) probe->record_stacks(is_recording);
}

void Observer::read(Moment moment) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < parts_.probes.size(); ++i) {
    parts_.probes[i]->read(moment, std::span(row_).subspan(begin, key_counts_[i]));
    begin += key_counts_[i];
  }
}

}  // namespace stepleak
