// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/session/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <utility>

#include "harness/base/bytes.hpp"
#include "harness/detect/device_growth.hpp"
#include "harness/detect/trend.hpp"
#include "harness/explain/explain.hpp"
#include "harness/explain/memory_evidence.hpp"
#include "harness/judge/judge.hpp"

namespace stepleak {
namespace {

// A container with a known bound is run on until it is full, up to this many steps.
constexpr std::int64_t kMostStepsToFill = 2048;

class Session {
 public:
  explicit Session(const SessionParts& parts) : parts_(parts), runner_(parts.runner) {
    runner_.trace().declared_period = parts.policy.period;
    reserve_to(parts.policy.budget_steps);
  }

  Result run() {
    const auto start = std::chrono::steady_clock::now();
    try {
      runner_.start();
      judge();
    } catch (const StepFailure& failure) {
      result_.verdict = Verdict::failure;
      result_.reason = "the step failed";
      result_.failure = RunFailure{
          fmt::format("{} (in step {})", failure.what(), runner_.trace().step_count() + 1), failure.remedy(), {}, {}};
      if (failure.is_out_of_memory()) result_.failure->memory = evidence_of_memory();
    }
    if (const auto broken = broken_chain(runner_.trace()); !broken.empty()) {
      result_.notes.push_back("the ledgers contradict each other, so this result may be wrong: " + broken);
    }
    result_.target = parts_.target;
    result_.device = parts_.device;
    result_.steps = runner_.trace().step_count();
    result_.conditions = parts_.conditions;
    result_.steady = steady_levels(runner_.trace());
    result_.trace = std::move(runner_.trace());
    result_.trace.survivors.clear();
    result_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(result_);
  }

 private:
  void judge() {
    for (const auto look : parts_.policy.looks()) {
      runner_.run_to(look);
      if (settle(decide(runner_.trace(), parts_.policy))) return;
    }
  }

  // Room for the trace at once: where it grew by and by, the host heap that is measured would grow with it.
  void reserve_to(std::int64_t steps) {
    runner_.trace().reserve(std::min<std::int64_t>(steps, FlightRecorder::kCapacityRows));
  }

  // True where the decision ends the run.
  bool settle(const Decision& decision) {
    result_.limit = decision.limit;
    result_.reason = decision.reason;
    switch (decision.next) {
      case Decision::Next::more_steps:
        return false;
      case Decision::Next::clean:
        result_.verdict = Verdict::clean;
        add_notes();
        return true;
      case Decision::Next::inconclusive:
        result_.verdict = Verdict::inconclusive;
        return true;
      case Decision::Next::leak:
        break;
    }
    explain();
    if (const auto bound = bound_of_holders(); bound > 0) {
      fill_up(bound);
      return true;
    }
    result_.verdict = Verdict::leak;
    return true;
  }

  void explain() {
    auto& trace = runner_.trace();
    for (auto* search : parts_.holder_searches) search->begin();
    const auto plan = plan_explain();
    runner_.explain(plan.steps, plan.stride);
    if (parts_.runner.collector != nullptr) parts_.runner.collector->unfreeze();
    for (auto* search : parts_.holder_searches) search->search(trace);
    std::vector<Finding> findings;
    for (const auto* detector : parts_.detectors) {
      auto found = detector->detect(trace);
      findings.insert(findings.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
    }
    result_.findings = narrowed(findings);
    for (auto& finding : result_.findings) {
      finding.fix = fix_for(finding);
      finding.fingerprint = fingerprint_of(finding);
    }
  }

  struct ExplainPlan {
    std::int64_t steps;
    std::int64_t stride;
  };

  // Long enough to see four of the leak's events, also where it does not leak in every step.
  [[nodiscard]] ExplainPlan plan_explain() {
    constexpr std::int64_t kShortest = 18;
    constexpr std::int64_t kLongest = 256;
    // Of every so-many-th step four that prove, and the last.
    constexpr std::int64_t kRecordedSteps = 5;
    const auto& trace = runner_.trace();
    const auto blocks = exact_trend(trace, {Counter::live_blocks, parts_.device});
    const bool is_in_every_step = blocks.is_growing() && blocks.period == 1 && blocks.per_step >= 1;
    if (is_in_every_step && parts_.explain_stride > 1) {
      return {(kRecordedSteps - 1) * parts_.explain_stride + 1, parts_.explain_stride};
    }
    std::int64_t steps = std::max(kShortest, 2 * blocks.period + 2);
    if (blocks.per_step > 0 && blocks.per_step < 1) {
      steps = std::max(steps, static_cast<std::int64_t>(std::ceil(4 / blocks.per_step)));
    }
    return {std::min(steps, kLongest), 1};
  }

  // The bound of the container that holds the survivors; -1 where nothing bounds one of the findings.
  [[nodiscard]] std::int64_t bound_of_holders() {
    std::int64_t bound = -1;
    for (const auto& finding : result_.findings) {
      const auto& holders = runner_.trace().holders;
      const auto holder =
          std::find_if(holders.begin(), holders.end(), [&](const Holder& h) { return h.path == finding.holder; });
      if (holder == holders.end() || holder->bound <= 0) return -1;
      bound = std::max(bound, holder->bound);
    }
    return bound;
  }

  void fill_up(std::int64_t bound) {
    const auto findings = std::exchange(result_.findings, {});
    // The explain pass is over: its steps are judged like the others from here on.
    runner_.trace().explained_from = -1;
    if (parts_.runner.collector != nullptr) parts_.runner.collector->freeze();
    const auto full = runner_.trace().step_count() + bound;
    if (full <= kMostStepsToFill) {
      // Python's objects are counted from the new freeze on: the ledger falls there and fills with the container,
      // so it is judged once the first quarter, which is dropped, covers all of that.
      reserve_to(5 * full);
      runner_.run_to(5 * full);
      const auto decision = decide(runner_.trace(), with_budget(parts_.policy, runner_.trace().step_count()));
      if (decision.next == Decision::Next::clean) {
        result_.verdict = Verdict::clean;
        result_.limit = decision.limit;
        result_.notes.push_back(fmt::format("filled a container bounded at {} before it settled", bound));
        return;
      }
      if (decision.next == Decision::Next::leak) {
        result_.findings = findings;
        result_.verdict = Verdict::leak;
        return;
      }
    }
    result_.verdict = Verdict::inconclusive;
    result_.reason = fmt::format("still filling, or not settled since: {} is bounded at {}; run more --steps",
                                 findings.front().holder, bound);
  }

  // The failed step's own blocks are gone with its frames; what earlier steps and the set-up keep is alive.
  MemoryEvidence evidence_of_memory() {
    auto& trace = runner_.trace();
    try {
      runner_.read_blocks();
      for (auto* search : parts_.holder_searches) search->search(trace);
      return memory_evidence_of(trace, parts_.device);
    } catch (const std::exception& error) {
      // Little memory is left, and the failure itself must not be lost with its evidence.
      result_.notes.push_back(fmt::format("what is live cannot be told: {}", error.what()));
      return {};
    }
  }

  void add_notes() {
    auto& trace = runner_.trace();
    for (const auto& device : trace.devices()) {
      const auto collected = collected_bytes(trace, device);
      if (collected.empty() || collected.back() == 0) continue;
      const auto per_step = static_cast<double>(collected.back()) / static_cast<double>(collected.size());
      result_.notes.push_back(fmt::format("{} a step on {} is freed by Python's cycle collector only",
                                          format_bytes(per_step), to_string(device)));
    }
  }

  const SessionParts& parts_;
  Runner runner_;
  Result result_;
};

}  // namespace

Result run_session(const SessionParts& parts) { return Session(parts).run(); }

}  // namespace stepleak
