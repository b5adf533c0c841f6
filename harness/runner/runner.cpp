// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/runner/runner.hpp"

#include <bit>
#include <cstdint>
#include <new>

#include "harness/probes/step_clock.hpp"

namespace stepleak {
namespace {

// Whatever a step throws is the step's failure, with the first line of its message (torch adds its own stack).
void call_step(const Step& step, std::int64_t index) {
  try {
    step(index);
  } catch (const StepFailure&) {
    throw;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw StepFailure("the step threw std::bad_alloc");
  } catch (const std::exception& error) {
    const std::string what = error.what();
    throw StepFailure("the step threw: " + what.substr(0, what.find('\n')));
  } catch (...) {
    throw StepFailure("the step threw something that is no std::exception");
  }
}

// Steps 1, 4, 16, 64 and so on: their cost vanishes in a long run, and whenever a leaking step runs out of memory, the
// newest of them lies in the last three quarters of the run. (Of the powers of two, those of four leave 1 modulo 3.)
bool is_sampled(std::int64_t step) { return std::has_single_bit(static_cast<std::uint64_t>(step)) && step % 3 == 1; }

}  // namespace

Runner::Runner(RunnerParts parts) : parts_(std::move(parts)) {
  std::vector<SeriesKey> keys;
  for (const auto* probe : parts_.probes) {
    const auto own = probe->keys();
    key_counts_.push_back(own.size());
    keys.insert(keys.end(), own.begin(), own.end());
  }
  row_.resize(keys.size());
  trace_ = Trace(std::move(keys));
}

void Runner::start() {
  trace_.collector.has_python = parts_.collector != nullptr;
  if (parts_.recorder != nullptr) parts_.recorder->begin(trace_.keys());
  current_step = 0;
  if (parts_.collector != nullptr) parts_.collector->freeze();
  for (auto* probe : parts_.probes) probe->start();
}

void Runner::run_to(std::int64_t step_count) {
  run_steps_to(step_count);
  trace_.cohorts.clear();
  for (auto* probe : parts_.probes) probe->read_cohorts(trace_.cohorts);
}

void Runner::explain(std::int64_t step_count, std::int64_t stride) {
  trace_.explained_from = trace_.step_count() + 1;
  trace_.explained_steps = step_count;
  trace_.explain_stride = stride;
  for (auto* probe : parts_.probes) probe->begin_explain();
  is_explaining_ = true;
  run_steps_to(trace_.explained_from - 1 + step_count);
  is_explaining_ = false;
  for (auto* probe : parts_.probes) probe->end_explain(trace_);
}

void Runner::read_blocks() {
  for (auto* probe : parts_.probes) probe->read_blocks(trace_);
}

void Runner::run_steps_to(std::int64_t step_count) {
  try {
    while (trace_.step_count() < step_count) run_step(trace_.step_count() + 1 == step_count);
  } catch (...) {
    record_stacks(false);
    throw;
  }
  // The last step may have been a recorded one, and no other may follow.
  record_stacks(false);
}

void Runner::run_step(bool is_settled) {
  const auto step = trace_.step_count() + 1;
  current_step.store(step, std::memory_order_relaxed);
  if (parts_.recorder != nullptr) parts_.recorder->begin_step(step);
  record_stacks(is_explaining_ ? trace_.is_recorded(step) : is_sampled(step));
  for (auto* probe : parts_.probes) probe->begin_step(step);
  call_step(parts_.step, step - 1);
  if (is_settled) {
    for (auto* probe : parts_.probes) probe->settle();
  }
  read(Moment::before_collection);
  if (parts_.collector != nullptr) {
    trace_.collector.is_enabled = parts_.collector->is_enabled();
    parts_.collector->collect();
  }
  read(Moment::after_collection);
  trace_.add_row(row_);
  if (parts_.recorder != nullptr) parts_.recorder->add_row(row_);
}

void Runner::record_stacks(bool is_recording) {
  if (is_recording == is_recording_) return;
  is_recording_ = is_recording;
  for (auto* probe : parts_.probes) probe->record_stacks(is_recording);
}

void Runner::read(Moment moment) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < parts_.probes.size(); ++i) {
    parts_.probes[i]->read(moment, std::span(row_).subspan(begin, key_counts_[i]));
    begin += key_counts_[i];
  }
}

}  // namespace stepleak
