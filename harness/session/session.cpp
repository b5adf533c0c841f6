// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/session/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <utility>

#include "harness/analyse/record_plan.hpp"
#include "harness/explain/memory_evidence.hpp"
#include "harness/explain/stacks.hpp"

namespace stepleak {
namespace {

using Outcome = RecordOutcome::Type;

// So much room for a trace is made at once: where it grew by and by, the host heap that is measured would grow with it.
constexpr std::int64_t kReservedBoundaries = 1 << 16;

// Of a budget in time this part is kept for the record pass; more of it where the shortest one takes longer.
constexpr double kRecordShare = 0.25;
constexpr double kMostRecordShare = 0.5;

// Steps 1, 4, 16, 64 and so on: their cost vanishes in a long run, and whenever a leaking step runs out of memory, the
// newest of them lies in the last three quarters of the run. (Of the powers of two, those of four leave 1 modulo 3.)
bool is_sampled(std::int64_t step) { return std::has_single_bit(static_cast<std::uint64_t>(step)) && step % 3 == 1; }

// What goes wrong in naming what was found costs places and holders, never the verdict.
template <typename Action>
void attempt(const Action& action, std::vector<std::string>& notes) {
  try {
    action();
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    notes.push_back(fmt::format("who keeps the memory could not be found out: {}", error.what()));
  }
}

}  // namespace

Session::Session(SessionParts parts)
    : parts_(std::move(parts)),
      observer_(parts_.observer),
      policy_(parts_.policy),
      trace_(parts_.facts, observer_.keys()) {
  // Without anybody who looks at what keeps it, a record pass proves nothing that the trend does not. What sources
  // alone say of C++ is often nothing, too: not where no room is left for another pass, once the trend has told.
  const bool is_only_one = policy_.proof_steps + kShortestRecord > policy_.last_to_record();
  if (parts_.holder_searches.empty() || (is_only_one && !parts_.facts.has_python)) {
    policy_.proof_steps = policy_.leak_steps;
  }
  trace_.reserve(std::min(policy_.budget_steps, kReservedBoundaries));
}

void Session::start() {
  started_ = parts_.now();
  next_look_ = policy_.look_after(0);
  observer_.attach();
}

void Session::begin_step() {
  const auto step = trace_.step_count() + 1;
  const auto& pass = trace_.passes().back();
  const Recording planned{.pass = pass, .steps = pass.planned_steps};
  observer_.begin_step(step, is_in_record_ ? planned.is_recorded(step) : is_sampled(step));
}

Next Session::end_step() {
  const auto pass = trace_.passes().back();
  const auto step = trace_.step_count() + 1;
  // Ranks look at the same steps, whatever their clocks say.
  const bool is_late = parts_.peers == nullptr && is_time_up();
  const bool is_screen = pass.type == PassType::screen;
  const bool is_last = is_late || step == (is_screen ? next_look_ : pass.first_step + pass.planned_steps - 1);
  const bool is_look = step == next_look_ && pass.type != PassType::record;
  observer_.end_step(is_last || is_look, trace_);
  if (is_in_record_ && !is_last && step == pass.first_step + pass.planned_steps / 2 - 1) be_halfway();
  if (is_screen) return is_last ? look(is_late) : Next::go_on;
  // A cache of few keys comes to rest long before it is full.
  if (is_look && look_for_clean()) return follow({.next = next_of_clean()});
  if (is_look) next_look_ = look_after(step);
  return is_last ? end_pass() : Next::go_on;
}

double Session::seconds() const { return std::chrono::duration<double>(parts_.now() - started_).count(); }

template <typename Action>
void Session::aside(const Action& action) {
  const double before = seconds();
  action();
  seconds_aside_ += seconds() - before;
}

// Whether another step would leave too little of the user's time.
bool Session::is_time_up() const {
  if (policy_.budget_seconds <= 0) return false;
  const double used = seconds() - seconds_aside_;
  const double a_step = used / static_cast<double>(trace_.step_count() + 1);
  const double shortest = static_cast<double>(kShortestRecord) * a_step / policy_.budget_seconds;
  const double kept = is_in_record_ ? 0 : std::clamp(shortest, kRecordShare, kMostRecordShare);
  return used + a_step > policy_.budget_seconds * (1 - kept);
}

Next Session::next_of_clean() const { return trace_.step_count() < parts_.watched_steps ? Next::go_on : Next::stop; }

Next Session::look(bool is_late) {
  const bool is_over = is_late || is_time_up();
  if (is_over) {
    // Clean, and what proves a leak, are judged by what the time allowed. The trend alone tells no leak from a cache
    // that fills, however short the time is.
    const auto steps = std::max(trace_.step_count(), kFewestSteps);
    policy_.clean_steps = std::min(policy_.clean_steps, steps);
    policy_.proof_steps = std::min(policy_.proof_steps, steps);
    is_out_of_time_ = true;
  }
  trace_.add_look(observer_.cohorts());
  auto move = move_after(judge(trace_, policy_, parts_.detectors));
  if (is_over && move.next == Next::go_on) move.next = Next::stop;
  return follow(move);
}

Next Session::end_pass() {
  if (is_in_record_) {
    end_record();
    const auto judgement = judge(trace_, policy_, parts_.detectors);
    if (judgement.outcome.type == Outcome::withheld) observer_.stop_freezing();
    const auto move = move_after(judgement);
    if (!move.is_leak) observer_.withdraw();
    // What is waited for is recorded for as long once more before the budget ends.
    if (judgement.outcome.type == Outcome::filling) last_record_steps_ = trace_.recording().pass.planned_steps;
    if (move.next == Next::fill) filled_.insert(judgement.outcome.bound);
    // What had stopped by then may have settled since, and no step is left to look at it later.
    const auto type = judgement.outcome.type;
    const bool is_last = (type == Outcome::contradicted || type == Outcome::slowed) && steps_left() == 0;
    if (is_last && look_for_clean()) return follow({.next = Next::stop});
    return follow(move);
  }
  return follow(go_on());
}

bool Session::look_for_clean() {
  auto to_here = trace_;
  to_here.add_look(observer_.cohorts());
  const auto decision = judge(to_here, policy_, parts_.detectors).decision;
  if (decision.next != Decision::Next::clean) return false;
  trace_ = std::move(to_here);
  return true;
}

Move Session::move_after(const Judgement& judgement) {
  if (judgement.decision.next == Decision::Next::more_steps) return {};
  if (judgement.decision.next == Decision::Next::clean) return {.next = next_of_clean()};
  if (judgement.decision.next == Decision::Next::inconclusive) return kOpen;
  if (recording_after_look(trace_).is_empty()) {
    // A shorter pass would prove nothing.
    if (steps_left() < kShortestRecord) return go_on();
    if (!is_record_due(judgement.decision)) return {};
    return {Next::record, plan_record(trace_, *judgement.trends, parts_.device, parts_.record_stride, steps_left())};
  }
  if (is_out_of_time_) return {.next = Next::stop};
  switch (judgement.outcome.type) {
    case Outcome::filling:
      if (is_wait_over(judgement.outcome, trace_.step_count(), policy_)) {
        return {.next = Next::stop, .is_open = !is_waited_for_in_vain(judgement.outcome, trace_.step_count(), policy_)};
      }
      [[fallthrough]];
    case Outcome::contradicted:
    case Outcome::slowed:
    case Outcome::full:
    case Outcome::caching:
    case Outcome::spreading:
      return go_on();
    case Outcome::withheld:
      // The steps before do not count.
      if (steps_left() < 1) return kOpen;
      return {Next::fill, {.type = PassType::fill, .planned_steps = 1}};
    case Outcome::open:
      if (judgement.decision.needs_proof) return go_on();
      break;
    case Outcome::bounded: {
      const auto missing = std::max<std::int64_t>(1, judgement.outcome.full_at - trace_.step_count());
      const auto until_clean = missing + policy_.clean_steps;
      const bool is_in_reach = until_clean <= steps_left() || extend(until_clean);
      const bool may_rest = judgement.outcome.has_repeated && policy_.clean_steps <= steps_left();
      // It was full, and holds less: it is cut, time and again, and its troughs show what is left.
      const bool was_cut =
          filled_.contains(judgement.outcome.bound) && judgement.outcome.held < judgement.outcome.bound;
      if (was_cut) return go_on();
      // What fills and is emptied shows by its troughs that nothing is left of it; what is full by now has shown all
      // that its entries take, and what still moves settles.
      if (!is_in_reach && !may_rest) {
        const bool may_settle = judgement.outcome.was_emptied || judgement.outcome.held >= judgement.outcome.bound;
        return {.next = may_settle && steps_left() > 0 ? Next::go_on : Next::stop};
      }
      return {Next::fill, {.type = PassType::fill, .planned_steps = std::min(missing, steps_left())}};
    }
    case Outcome::proven:
      break;
  }
  return {.next = Next::stop, .is_leak = true};
}

// What a first record pass did not settle is recorded again where the trend alone may call it a leak, then as often as
// the run has doubled, and before the budget ends.
bool Session::is_record_due(const Decision& decision) const {
  const auto recorded = trace_.recording().pass.first_step;
  const auto step = trace_.step_count();
  if (trace_.recordings().empty() || is_out_of_time_ || steps_left() <= last_record_steps_) return true;
  const bool is_confirmed = !decision.needs_proof || step >= policy_.leak_steps;
  return is_confirmed && (recorded <= policy_.leak_steps || step >= 2 * (recorded - 1));
}

bool Session::extend(std::int64_t missing) {
  if (missing > parts_.most_steps - trace_.step_count() || is_out_of_time_) return false;
  auto budget = parts_.policy.budget_steps;
  while (budget < trace_.step_count() + missing) budget *= 2;
  if (budget > parts_.most_steps) return false;
  const double used = seconds() - seconds_aside_;
  const double a_step = used / static_cast<double>(std::max<std::int64_t>(1, trace_.step_count()));
  if (a_step * static_cast<double>(budget) > parts_.most_seconds) return false;
  parts_.policy.budget_steps = budget;
  policy_.budget_steps = budget;
  return true;
}

Next Session::follow(const Move& own) {
  auto move = parts_.peers == nullptr ? own : parts_.peers->agree(trace_.step_count(), own);
  if (move.is_open && extend(steps_left() + 1)) move = {};
  switch (move.next) {
    case Next::stop:
      return Next::stop;
    case Next::record:
      begin_record(move.pass);
      return Next::record;
    case Next::fill:
      trace_.begin_pass(move.pass);
      break;
    case Next::go_on:
      if (trace_.passes().back().type != PassType::screen) trace_.begin_pass({.type = PassType::screen});
      break;
  }
  observer_.freeze_again();
  next_look_ = look_after(trace_.step_count());
  return move.next;
}

// Looks count from where the judging began; the last that leaves room for a record pass, and the last of all, do not.
// Ranks run a fill pass to its end together.
std::int64_t Session::look_after(std::int64_t step) const {
  const auto& pass = trace_.passes().back();
  if (pass.type == PassType::fill && parts_.peers != nullptr) return 0;
  const auto before = (pass.type == PassType::fill ? pass.first_step : judged_from(trace_)) - 1;
  auto next = before + policy_.look_after(step - before);
  for (const auto last : {policy_.budget_steps - last_record_steps_, policy_.last_to_record(), policy_.budget_steps}) {
    if (last > step) next = std::min(next, last);
  }
  return next;
}

void Session::begin_record(const Pass& pass) {
  observer_.decide(trace_.step_count(), policy_);
  aside([&] {
    for (auto* search : parts_.holder_searches) attempt([&] { search->begin(); }, record_notes_);
  });
  observer_.begin_record(pass);
  trace_.begin_pass(pass);
  is_in_record_ = true;
}

void Session::be_halfway() {
  aside([&] {
    for (auto* search : parts_.holder_searches) attempt([&] { search->halfway(); }, record_notes_);
  });
}

void Session::end_record(bool has_loop_ended) {
  is_in_record_ = false;
  const auto pass = trace_.passes().back();
  Recording recording;
  aside([&] {
    for (auto* search : parts_.holder_searches) attempt([&] { search->end(); }, record_notes_);
    recording = observer_.end_record(pass, trace_.step_count() - pass.first_step + 1);
    recording.notes = std::exchange(record_notes_, {});
    explain(recording);
  });
  // With a script's functions went what they held; what only a cycle leads to now had a holder in its steps.
  if (has_loop_ended) {
    for (auto& survivor : recording.survivors) {
      if (std::exchange(survivor.is_unreachable, false)) survivor.holder = -1;
    }
  }
  trace_.add_recording(std::move(recording));
}

void Session::explain(Recording& recording) const {
  attempt(
      [&] {
        if (parts_.stacks == nullptr) return;
        auto named = named_stacks(parts_.stacks->take_stacks(), parts_.folders);
        recording.stacks = std::move(named.stacks);
        recording.notes.insert(recording.notes.end(), named.notes.begin(), named.notes.end());
      },
      recording.notes);
  // Where their naming failed, survivors have no place, and are none the less there.
  const auto named = static_cast<int>(recording.stacks.size());
  for (auto& survivor : recording.survivors) survivor.stack = survivor.stack < named ? survivor.stack : -1;
  for (auto* search : parts_.holder_searches) attempt([&] { search->search(recording); }, recording.notes);
}

void Session::fail(const StepFailure& failure) {
  end_early(failure.what(), failure.remedy(), failure.is_out_of_memory());
}

void Session::interrupt() {
  is_interrupted_ = true;
  end_early("interrupted", "", false);
  failure_->reason = "the run was interrupted";
}

void Session::end_early(const std::string& what, const std::string& remedy, bool is_out_of_memory) {
  failure_ = RunFailure{.what = fmt::format("{} (in step {})", what, trace_.step_count() + 1),
                        .remedy = remedy,
                        .is_out_of_memory = is_out_of_memory};
  if (parts_.peers != nullptr) parts_.peers->leave(failure_->what);
  try {
    // What was recorded up to here is as good as ever.
    if (is_in_record_ && trace_.step_count() >= trace_.passes().back().first_step) end_record();
    if (!is_out_of_memory) return;
    // The failed step's own blocks are gone with its frames; what earlier steps and the set-up keep is alive.
    auto live = observer_.live_blocks();
    if (parts_.stacks != nullptr) live.stacks = named_stacks(parts_.stacks->take_stacks(), parts_.folders).stacks;
    failure_->memory = memory_evidence_of(live, parts_.device);
  } catch (const std::exception& error) {
    // Little memory is left, and the failure itself must not be lost with its evidence.
    failure_->remedy += fmt::format(" (what is live cannot be listed: {})", error.what());
  }
}

// A loop of the user's ends between looks: what had not settled at the last one may have since. What still grows stays
// undecided, since no step is left to record.
void Session::add_last_look() {
  const bool is_in_record = trace_.passes().back().type == PassType::record;
  const auto judged = trace_.looks().empty() ? 0 : trace_.looks().back().step;
  if (failure_ || parts_.peers != nullptr || is_in_record || trace_.step_count() <= judged) return;
  (void)look_for_clean();
}

std::vector<std::string> Session::notes_of_time() const {
  const auto asked = parts_.policy.clean_steps;
  if (!is_out_of_time_ || policy_.clean_steps >= asked) return {};
  return {
      fmt::format("the time budget of {:g} s ended it at step {}, where a clean verdict would have waited for step {}: "
                  "what is rarer, "
                  "begins later or needs more steps to be told from noise was not looked for",
                  policy_.budget_seconds, trace_.step_count(), asked)};
}

RunRecord Session::finish() {
  // A loop of the user's may end in the middle of the record pass.
  if (is_in_record_ && !failure_ && trace_.step_count() >= trace_.passes().back().first_step) {
    attempt([&] { end_record(true); }, record_notes_);
  }
  add_last_look();
  observer_.detach();
  auto notes = notes_of_time();
  return {.target = parts_.target,
          .device = parts_.device,
          .policy = policy_,
          .trace = std::move(trace_),
          .failure = std::move(failure_),
          .is_interrupted = is_interrupted_,
          .notes = std::move(notes),
          .conditions = parts_.conditions,
          .seconds = seconds()};
}

}  // namespace stepleak
