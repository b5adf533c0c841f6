// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/explain/conclusion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/analyse/ages.hpp"
#include "harness/analyse/device_growth.hpp"
#include "harness/analyse/further_leaks.hpp"
#include "harness/analyse/host_growth.hpp"
#include "harness/analyse/losses.hpp"
#include "harness/analyse/suspects.hpp"
#include "harness/base/bytes.hpp"
#include "harness/explain/explain.hpp"
#include "harness/trace/collective_recorder.hpp"
#include "harness/trace/holder_text.hpp"

namespace stepleak {
namespace {

using Next = Decision::Next;
using Outcome = RecordOutcome::Type;

void complete(Finding& finding, const Recording& recording) {
  finding.fix = fix_for(finding, recording);
  finding.fingerprint = fingerprint_of(finding);
}

std::vector<Finding> findings_of(const Evidence& evidence, const std::vector<const Detector*>& detectors) {
  std::vector<Finding> findings;
  for (const auto* detector : detectors) {
    auto found = detector->detect(evidence);
    findings.insert(findings.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  }
  const auto is_unrefuted = [&](const Finding& finding) { return !is_refuted(evidence, finding); };
  if (const auto refuted = std::stable_partition(findings.begin(), findings.end(), is_unrefuted);
      refuted != findings.begin()) {
    findings.erase(refuted, findings.end());
  }
  const auto all = findings;
  std::erase_if(findings, [&](const Finding& finding) { return is_outweighed(evidence.recording, finding, all); });
  findings = narrowed(findings);
  for (auto& finding : findings) complete(finding, evidence.recording);
  return findings;
}

void add_further_leaks(const Evidence& evidence, std::vector<Finding>& findings) {
  if (evidence.recording.is_empty()) return;
  if (tell_of_tensors(evidence, findings)) {
    for (auto& finding : findings) complete(finding, evidence.recording);
  }
  for (auto& finding : further_leaks(evidence, findings)) {
    complete(finding, evidence.recording);
    findings.push_back(std::move(finding));
  }
}

std::vector<std::string> notes_of_unproven(const Evidence& evidence, const std::vector<Finding>& findings) {
  std::vector<std::string> notes;
  if (evidence.recording.is_empty()) return notes;
  for (const auto& finding : unproven_beside(evidence, findings)) {
    const auto structure = structure_text(finding.structure);
    notes.push_back(fmt::format("{}, in {}: {}", finding.what, finding.holder,
                                structure.empty() ? "whether it goes on is not known" : structure));
  }
  return notes;
}

bool is_exhausted(const RunRecord& record) { return record.failure && record.failure->is_out_of_memory; }

Trace with_look_at_the_end(Trace trace) {
  trace.add_look(trace.looks().empty() ? std::vector<CohortTable>() : trace.looks().back().cohorts);
  return trace;
}

// A run that ended before its budget is judged by what it has; only memory that ran out is a proof of its own.
Judgement judge_to_the_end(const RunRecord& record, const std::vector<const Detector*>& detectors) {
  auto policy = record.policy;
  // A cache that fills would have been allowed more steps; this device has no room for them.
  if (is_exhausted(record) && record.trace.step_count() >= policy.clean_steps) policy.leak_steps = policy.clean_steps;
  auto judgement = judge(record.trace, policy, detectors);
  if (judgement.decision.next != Next::more_steps || !is_exhausted(record)) return judgement;
  auto at_the_end = judge(with_look_at_the_end(record.trace), policy, detectors);
  return at_the_end.decision.next == Next::leak && !at_the_end.is_too_soon() ? at_the_end : judgement;
}

std::vector<std::string> notes_of_collection(const Trace& trace, StepRange judged) {
  std::vector<std::string> notes;
  for (const auto& device : trace.devices()) {
    const auto collected = collected_bytes(trace, device, judged);
    if (collected.empty() || collected.back() <= 0) continue;
    const auto per_step = static_cast<double>(collected.back()) / static_cast<double>(collected.size());
    notes.push_back(fmt::format("{} a step on {} is freed by Python's cycle collector only", format_bytes(per_step),
                                to_string(device)));
  }
  return notes;
}

std::vector<std::string> notes_of_fills(const Trace& trace) {
  if (judged_from(trace) == 1) return {};
  std::int64_t bound = 0;
  for (const auto& recording : trace.recordings()) {
    for (const auto& node : recording.objects.nodes) bound = std::max(bound, node.bound);
    for (const auto& holder : recording.holders) bound = std::max(bound, holder.structure.bound);
  }
  // No container was run full: the judging began anew.
  if (bound <= 0) {
    return {fmt::format("judged from step {} on: what grew before was garbage that Python's collector was kept from",
                        judged_from(trace))};
  }
  if (trace.passes().back().type == PassType::fill) {
    return {fmt::format("settled while a container bounded at {} was run full", bound)};
  }
  return {fmt::format("filled a container bounded at {} before it settled", bound)};
}

// What each step leaves does not show while what the set-up made is freed for it.
std::vector<std::string> notes_of_set_up(const Trace& trace, StepRange judged) {
  std::vector<std::string> notes;
  for (const auto& device : trace.devices()) {
    const auto stayed = middle_aged_blocks(trace, device, judged);
    const auto freed = set_up_blocks_freed(trace, device);
    if (stayed < judged.count() / 4 || freed < judged.count() / 2) continue;
    notes.push_back(fmt::format(
        "on {} the steps leave a block each or more, and {} that were there before were freed: unless a buffer that "
        "was full takes the new in the place of the old, a leak shows once none of these is left: let it run longer",
        to_string(device), freed));
  }
  return notes;
}

// What libraries keep for each shape that they meet fills, and may still do so.
std::vector<std::string> notes_of_decay(const Trends& trends) {
  std::vector<std::string> notes;
  const auto add = [&](const SeriesKey& key, const Trend& trend, const std::string& text) {
    if (!trends.is_decaying(key) || trend.is_flat() || trend.per_step <= 0) return;
    const bool is_of_shapes = trends.decay_of(key) == Decay::of_shapes;
    notes.push_back(fmt::format("{} a step, {}", text,
                                is_of_shapes ? "in steps of new shapes only: a library keeps something for each"
                                             : "ever more slowly: it fills something"));
  };
  const SeriesKey heap{Counter::heap_bytes};
  add(heap, trends.heap(), fmt::format("the host heap still rose by {}", format_bytes(trends.heap().per_step)));
  const SeriesKey mapped{Counter::mapped_bytes};
  add(mapped, trends.of(mapped),
      fmt::format("memory that is mapped outside malloc still rose by {}", format_bytes(trends.of(mapped).per_step)));
  for (const auto& device : trends.devices()) {
    const SeriesKey outside{Counter::outside_bytes, device};
    const auto& trend = trends.of(outside);
    add(outside, trend,
        fmt::format("memory outside the allocator on {} still rose by {}", to_string(device),
                    format_bytes(trend.per_step)));
  }
  return notes;
}

// Too light for a leak, as a log of one small record or line of text a step is, and never silently so.
std::vector<std::string> notes_of_objects(const Trace& trace, const Trends& trends) {
  const auto objects = host_growth_of(trace, trends).objects;
  if (objects.is_growing()) {
    const auto text = growth_text(objects.per_step, objects.period, "python object");
    return {fmt::format("{} {} of {}, too light to be called a leak: a log?", text.count,
                        text.is_one ? "stays" : "stay", text.every)};
  }
  // A process warms up for some hundred steps: the interpreter, malloc and libraries keep a little of each.
  if (trends.judged().count() < Policy{}.leak_steps) return {};
  const auto& heap = trends.light_heap();
  if (heap.is_growing() && !trends.is_decaying({Counter::heap_bytes})) {
    return {fmt::format("the host heap rises by {} a step, too light to be called a leak: a log?",
                        format_bytes(heap.per_step))};
  }
  const auto& blocks = trends.light_blocks();
  if (!blocks.is_growing() || trends.is_decaying({Counter::python_blocks})) return {};
  return {
      fmt::format("{:.1f} small python blocks (strings, numbers) stay of every step on average, too light to be "
                  "called a leak: a log?",
                  blocks.per_step)};
}

// Nothing in them is observed: whether what grows there fills something is for the user to find out.
std::vector<std::string> notes_of_children(const Trace& trace) {
  const auto* ledger = trace.ledger({Counter::children_bytes});
  if (ledger == nullptr) return {};
  const auto trend = trend_of_readings(ledger->steps(), ledger->values(), kMappedFloorBytes);
  if (!trend.is_growing()) return {};
  return {
      fmt::format("child processes grow by {} a step, all together, and are not judged: let the step do their work "
                  "itself (a loader with num_workers=0), and judge that",
                  format_bytes(trend.per_step))};
}

// Once a container is full, the host heap beside it takes longer to settle than an exact ledger does.
constexpr std::int64_t kStepsToSettle = 4;

std::string reason_of_bound(const RecordOutcome& outcome, const RunRecord& record) {
  const auto by =
      outcome.structure.line == 0 ? "" : fmt::format(" by {}:{}", outcome.structure.file, outcome.structure.line);
  const bool is_declared = outcome.structure.type == StructureType::declared;
  const auto with = outcome.bytes_when_full < 1 ? "" : fmt::format(", with {}", format_bytes(outcome.bytes_when_full));
  return fmt::format("{} is {} {}{} and full at about step {}{}; this run had {}: let it run {} steps", outcome.holder,
                     is_declared ? "declared to hold at most" : "bounded at", outcome.bound, by, outcome.full_at, with,
                     record.trace.step_count(), outcome.full_at + kStepsToSettle * record.policy.clean_steps);
}

// Of a container whose device is full before it is: its bound ends nothing. Empty of another.
std::string beyond_capacity(const RecordOutcome& outcome, const RunRecord& record) {
  if (outcome.type != Outcome::bounded) return {};
  for (const auto& capacity : record.capacities) {
    const auto total = static_cast<double>(capacity.total_bytes);
    if (capacity.device != outcome.device || total <= 0 || outcome.bytes_when_full <= total) continue;
    return fmt::format("{} is bounded at {}, with which it would hold {}: more than the {} of {}", outcome.holder,
                       outcome.bound, format_bytes(outcome.bytes_when_full), format_bytes(total),
                       to_string(outcome.device));
  }
  return {};
}

std::string kept_by_clause(const Statement& kept_by) {
  return kept_by.line == 0 ? "" : fmt::format(", kept by {}:{}", kept_by.file, kept_by.line);
}

// What was seen to grow in a run that ended before anything proved that it goes on; and where it was last recorded.
std::vector<std::string> notes_of_growth(const std::vector<Finding>& findings) {
  std::vector<std::string> notes;
  for (const auto& finding : findings) {
    if (says_nothing(finding)) continue;
    const auto& kept_by = finding.kept_by;
    const auto line = kept_by_clause(kept_by);
    const auto holder = finding.holder.empty() ? "" : fmt::format(", in {}", finding.holder);
    notes.push_back(fmt::format("grew up to here, and may have filled something: {}{}{}", finding.what, line, holder));
  }
  return notes;
}

// The holder with a container that took most of what stayed of the recorded steps, one that got entries first; null
// where none did.
const Holder* holder_that_took_most(const Recording& recording) {
  std::vector<std::int64_t> taken;
  for (const auto& holder : recording.holders) taken.push_back(holder.gained_bytes + holder.gained_block_bytes);
  for (const auto& survivor : recording.survivors) {
    if (survivor.holder < 0 || !is_old(recording, survivor)) continue;
    taken.at(static_cast<std::size_t>(survivor.holder)) += taken_bytes(survivor);
  }
  const Holder* told = nullptr;
  std::pair<bool, std::int64_t> told_rank;
  for (std::size_t index = 0; index < taken.size(); ++index) {
    const auto& holder = recording.holders[index];
    const std::pair rank(holder.gained_entries > 0, taken[index]);
    if (holder.container < 0 || taken[index] <= 0 || rank <= told_rank) continue;
    told = &holder;
    told_rank = rank;
  }
  return told;
}

// Of what moves too irregularly to be called growing no detector tells; the newest recorded steps that left something
// in a container may.
std::vector<std::string> notes_of_containers(const Trace& trace) {
  const auto& recordings = trace.recordings();
  for (auto recording = recordings.rbegin(); recording != recordings.rend(); ++recording) {
    const auto* told = holder_that_took_most(*recording);
    if (told == nullptr) continue;
    const auto count = told->gained_entries;
    const auto taken = count > 0 ? fmt::format("{} {}", count, count == 1 ? "entry" : "entries")
                                 : "new entries in the place of old ones";
    const auto line = kept_by_clause(told->kept_by);
    const auto structure = structure_text(told->structure);
    return {fmt::format("what moves it may be {}: it took {} in the steps {} to {}, which were recorded{}{}",
                        path_text(recording->objects, *told), taken, recording->pass.first_step, recording->last_step(),
                        line, structure.empty() ? "" : ", and is " + structure)};
  }
  return {};
}

// Whether a container gained what the heap did, or nodes of every recorded step stay, which on a GPU are counted in no
// other steps; and nothing is known that would end that.
bool is_witness(const Finding& finding) {
  const bool are_nodes_kept = finding.counted == Counted::autograd_nodes && finding.kept_count > 1 &&
                              finding.kept_count == finding.explained_steps;
  return (finding.has_gained || are_nodes_kept) && has_no_known_end(finding.structure);
}

// In as many steps what may go on for ever is called a leak (is_wait_over()).
std::string steps_to_wait(const RecordOutcome& outcome, const RunRecord& record) {
  const auto steps = std::max(Policy{}.budget_steps, record.policy.budget_steps);
  const bool is_known = is_waited_for_in_vain(outcome, steps, record.policy);
  return is_known && record.trace.step_count() < steps ? fmt::format("{} steps at least", steps) : "longer";
}

// Why what goes on is called no leak yet; empty where nothing is known that would end it.
std::string reason_to_wait(const RecordOutcome& outcome, const RunRecord& record) {
  const auto longer = longer_run(record.trace.step_count(), record.policy);
  switch (outcome.type) {
    case Outcome::bounded:
      return beyond_capacity(outcome, record).empty() ? reason_of_bound(outcome, record) : "";
    case Outcome::filling:
      if (is_waited_for_in_vain(outcome, record.trace.step_count(), record.policy)) return {};
      return fmt::format("{} is {}, which has not ended its growth in {} steps: let it run {}", outcome.holder,
                         structure_text(outcome.structure), record.trace.step_count(), steps_to_wait(outcome, record));
    case Outcome::full:
      return fmt::format("{} is full at {}, and the sizes of what it holds still vary: let it run {}", outcome.holder,
                         outcome.bound, longer);
    case Outcome::caching:
      if (outcome.holder == kCollectiveRecorder) {
        return fmt::format(
            "what grows is what {} keeps, the newest 2,000 or as many as TORCH_FR_BUFFER_SIZE says, which did not end "
            "in {} steps: let it run {}, or set that to 0",
            outcome.holder, record.trace.step_count(), longer);
      }
      return fmt::format(
          "what grows is what {} keeps for shapes that it meets for the first time (plans, compiled code), which did "
          "not end in {} steps: let it run {}, or let it meet fewer shapes (pad them, or sort them into buckets)",
          outcome.holder, record.trace.step_count(), longer);
    case Outcome::spreading:
      return fmt::format(
          "what grows is reserved for CUDA streams that are used for the first time, which did not end in {} steps: "
          "make a stream once and keep it, or let it run {} (torch hands out 32 in turn)",
          record.trace.step_count(), longer);
    case Outcome::slowed:
      return fmt::format("it grew up to step {}, and by far less in the steps that were recorded: let it run {}",
                         judged_steps(record.trace).last, longer);
    case Outcome::withheld:
      return fmt::format(
          "what grew was garbage of Python's, which the collector was kept from while the steps ran: let it run {}",
          longer);
    case Outcome::open:
    case Outcome::proven:
    case Outcome::contradicted:
      break;
  }
  return {};
}

// What a run that ended too soon had shown by then, which is no verdict, by the rules of one of so many steps.
std::vector<std::string> notes_so_far(const RunRecord& record, const std::vector<const Detector*>& detectors) {
  const auto steps = record.trace.step_count();
  if (steps < kFewestSteps) return {};
  auto policy = record.policy;
  policy.clean_steps = std::min(policy.clean_steps, steps);
  policy.leak_steps = std::min(policy.leak_steps, steps);
  const auto trace = with_look_at_the_end(record.trace);
  const auto judgement = judge(trace, policy, detectors);
  if (judgement.decision.next == Next::clean) {
    return {fmt::format("nothing had grown by then; clean takes {} steps", record.policy.clean_steps)};
  }
  const Evidence evidence{trace, *judgement.trends, trace.recording()};
  auto notes = notes_of_growth(findings_of(evidence, detectors));
  if (notes.empty()) notes = notes_of_containers(trace);
  // Without a failure the reason says it already.
  if (notes.empty() && record.failure && !judgement.decision.reason.empty()) {
    notes.push_back(fmt::format("by then: {}", judgement.decision.reason));
  }
  return notes;
}

void conclude_leak(const RunRecord& record, const std::vector<const Detector*>& detectors, Judgement& judgement,
                   Result& result) {
  const auto& trends = *judgement.trends;
  const auto longer = longer_run(record.trace.step_count(), record.policy);
  if (auto reason = reason_to_wait(judgement.outcome, record); !reason.empty()) {
    result.verdict = Verdict::inconclusive;
    result.reason = std::move(reason);
    return;
  }
  if (judgement.outcome.type == Outcome::contradicted) {
    result.verdict = Verdict::inconclusive;
    const auto nodes = judgement.outcome.nodes_added;
    result.reason = nodes > 0 ? fmt::format(
                                    "each step computes more than the one before, by {:.2g} autograd nodes, and keeps "
                                    "no more than its own graph: something that it calls gets longer (a wrapper on a "
                                    "wrapper, one more layer or hook, a sequence); let it run {} to see an end",
                                    nodes, longer)
                              : fmt::format(
                                    "it grew up to step {}, and nothing stayed of the steps that were recorded: let "
                                    "it run {}",
                                    judged_steps(record.trace).last, longer);
    return;
  }
  const bool is_recorded = !recording_after_look(record.trace).is_empty();
  if (!is_recorded && !record.trace.recordings().empty() && !is_exhausted(record)) {
    // No record pass tells of the newest steps; the last one may still tell what they wait for.
    const Evidence evidence{record.trace, trends, record.trace.recording()};
    const auto findings = findings_of(evidence, detectors);
    result.reason = reason_to_wait(outcome_of(evidence, findings), record);
    if (result.reason.empty() && !record.failure) {
      result.reason = fmt::format(
          "after {} steps it still grows, as when a record pass proved nothing, and none is left to record: let it run "
          "{}",
          record.trace.step_count(), longer);
    }
    if (!result.reason.empty()) {
      result.verdict = Verdict::inconclusive;
      result.notes = notes_of_growth(findings);
      return;
    }
  }
  if (record.trace.step_count() < kFewestSteps + kShortestRecord && !is_recorded && !is_exhausted(record)) {
    // What fills looks alike, and no step was left to tell what keeps it.
    result.verdict = Verdict::inconclusive;
    result.reason = fmt::format(
        "it grew in all of {} steps, and none was left to record, so that nothing tells what keeps it or would end it: "
        "let it run {} steps",
        record.trace.step_count(), std::max(record.policy.proof_steps, kFewestSteps) + kShortestRecord);
    result.notes = notes_of_growth(judgement.findings);
    return;
  }
  const auto last_to_record = record.policy.last_to_record();
  const auto judged = judged_steps(record.trace);
  if (!is_recorded && !record.failure && judged.last > last_to_record && last_to_record >= record.policy.leak_steps) {
    result.verdict = Verdict::inconclusive;
    result.reason = fmt::format("it grows at step {} and did not at step {}, and none is left to record: let it run {}",
                                judged.last, last_to_record, longer);
    return;
  }
  result.verdict = Verdict::leak;
  // Where memory ran out before the newest steps were recorded, what was recorded before tells the places.
  const Evidence evidence{record.trace, trends, record.trace.recording()};
  result.losses = losses_of(evidence, record.capacities);
  auto earlier =
      is_recorded || evidence.recording.is_empty() ? std::vector<Finding>() : findings_of(evidence, detectors);
  const bool is_of_earlier_steps = !earlier.empty();
  result.findings = is_of_earlier_steps ? std::move(earlier) : std::move(judgement.findings);
  for (auto& finding : result.findings) {
    // The places of a container are no bound of the buffer in one of them.
    const bool is_of_places = finding.structure.type == StructureType::bounded;
    if (finding.kind == Kind::growing_buffer && is_of_places) finding.structure = {};
  }
  add_further_leaks(evidence, result.findings);
  for (auto& note : notes_of_unproven(evidence, result.findings)) result.notes.push_back(std::move(note));
  if (auto note = beyond_capacity(judgement.outcome, record); !note.empty()) result.notes.push_back(std::move(note));
  if (is_of_earlier_steps) {
    const auto first = evidence.recording.pass.first_step;
    result.notes.push_back(fmt::format("places and holders are those of steps {} to {}, which were recorded before",
                                       first, first + evidence.recording.steps - 1));
  } else if (!is_recorded) {
    result.notes.emplace_back("no step was recorded, so that neither place nor holder is known: let it run longer");
  }
}

void conclude_verdict(const RunRecord& record, const std::vector<const Detector*>& detectors, Result& result) {
  auto judgement = judge_to_the_end(record, detectors);
  result.limit = judgement.decision.limit;
  switch (judgement.decision.next) {
    case Next::clean: {
      const auto& trends = *judgement.trends;
      result.verdict = Verdict::clean;
      for (auto& note : notes_of_collection(record.trace, judged_steps(record.trace))) result.notes.push_back(note);
      for (auto& note : notes_of_fills(record.trace)) result.notes.push_back(note);
      for (auto& note : notes_of_decay(trends)) result.notes.push_back(note);
      for (auto& note : notes_of_set_up(record.trace, judged_steps(record.trace))) result.notes.push_back(note);
      for (auto& note : notes_of_objects(record.trace, trends)) result.notes.push_back(note);
      return;
    }
    case Next::leak:
      if (judgement.is_too_soon()) break;
      conclude_leak(record, detectors, judgement, result);
      return;
    case Next::inconclusive:
      result.verdict = Verdict::inconclusive;
      result.reason = judgement.decision.reason;
      result.notes = notes_of_containers(record.trace);
      return;
    case Next::more_steps:
      break;
  }
  result.verdict = Verdict::inconclusive;
  // What is not clean by then may be proven sooner than it shows by its trend.
  const auto steps = record.trace.step_count();
  const auto& policy = record.policy;
  // It would have caught nothing: a leak that shows is in doubt, too.
  if (steps < policy.clean_steps) result.limit = {};
  const auto needed = steps < policy.clean_steps
                          ? policy.clean_steps
                          : std::max(policy.leak_steps + kShortestRecord, policy.look_after(steps));
  const auto& unsettled = judgement.decision.next == Next::more_steps ? judgement.decision.reason : std::string();
  result.reason = fmt::format("the run ended after {} steps, before it could be judged{}{}{}: let it run {} at least",
                              steps, unsettled.empty() ? "" : " (", unsettled, unsettled.empty() ? "" : ")", needed);
  result.notes = notes_so_far(record, detectors);
}

// What a finding does not say already.
std::vector<std::string> notes_of_declared(const std::vector<DeclaredBound>& declared,
                                           const std::vector<Finding>& findings) {
  std::vector<std::string> notes;
  for (const auto& bound : declared) {
    const auto& structure = bound.structure;
    const bool is_said = std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
      return finding.structure.file == structure.file && finding.structure.line == structure.line;
    });
    if (structure.type != StructureType::exceeded || is_said) continue;
    notes.push_back(fmt::format("a {} is declared to hold at most {} by {}:{} and holds {}: the bound was not kept",
                                bound.type, structure.bound, structure.file, structure.line, bound.length));
  }
  return notes;
}

// Before a verdict stood, what ended the run is all that can be said.
void add_failure(const RunRecord& record, Result& result) {
  if (!record.failure) return;
  result.failure = record.failure;
  if (result.verdict == Verdict::inconclusive) {
    result.verdict = Verdict::failure;
    result.reason = record.failure->reason;
  }
}

}  // namespace

Judgement judge(const Trace& trace, const Policy& policy, const std::vector<const Detector*>& detectors) {
  // A verdict is reached at looks: what a run did not live to see is none.
  if (trace.looks().empty()) return {};
  Judgement judgement;
  judgement.trends = std::make_shared<const Trends>(trace);
  const auto& trends = *judgement.trends;
  judgement.decision = decide(trace, trends, policy);
  if (judgement.decision.next != Next::leak) return judgement;
  const Evidence evidence{trace, trends, recording_after_look(trace)};
  judgement.findings = findings_of(evidence, detectors);
  if (!evidence.recording.is_empty()) {
    judgement.outcome = outcome_of(evidence, judgement.findings);
    // What nobody has a word for, once steps were recorded, is no leak.
    const bool is_unsaid = judgement.findings.empty() && !detectors.empty();
    if (is_unsaid && judgement.outcome.type == Outcome::open) judgement.outcome.type = Outcome::contradicted;
  }
  // The heap alone is noisy; a container that gained what it did is as good a witness as an exact ledger.
  const bool is_confirmed = trends.judged().count() >= policy.leak_steps;
  if (is_confirmed && std::any_of(judgement.findings.begin(), judgement.findings.end(), is_witness)) {
    judgement.decision.needs_proof = false;
  }
  // Too soon to tell by their trends which of the others are leaks.
  if (judgement.decision.needs_proof && judgement.outcome.type == Outcome::proven) {
    std::erase_if(judgement.findings, [](const Finding& finding) { return !is_proven(finding); });
  }
  return judgement;
}

Result conclude(const RunRecord& record, const std::vector<const Detector*>& detectors) {
  Result result;
  result.target = record.target;
  result.device = record.device;
  conclude_verdict(record, detectors, result);
  if (!record.trials.empty()) {
    for (auto& finding : result.findings) finding.fix = fix_for(finding, record.trace.recording(), record.trials);
  }
  add_failure(record, result);
  for (const auto& recording : record.trace.recordings()) {
    result.notes.insert(result.notes.end(), recording.notes.begin(), recording.notes.end());
  }
  for (auto& note : notes_of_children(record.trace)) result.notes.push_back(std::move(note));
  if (const auto broken = broken_chain(record.trace); !broken.empty()) {
    result.notes.push_back("the ledgers contradict each other, so this result may be wrong: " + broken);
  }
  result.declared = record.declared;
  for (auto& note : notes_of_declared(record.declared, result.findings)) result.notes.push_back(std::move(note));
  result.notes.insert(result.notes.end(), record.notes.begin(), record.notes.end());
  result.steps = record.trace.step_count();
  result.seconds = record.seconds;
  result.conditions = record.conditions;
  result.steady = steady_levels(record.trace, judged_steps(record.trace));
  result.is_interrupted = record.is_interrupted;
  result.survivors = survivor_groups(record.trace.recording());
  result.held = holder_groups(record.trace.recording());
  result.trace = record.trace;
  return result;
}

}  // namespace stepleak
