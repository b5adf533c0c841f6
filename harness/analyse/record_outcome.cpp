// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/analyse/record_outcome.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "harness/analyse/ages.hpp"
#include "harness/analyse/chance.hpp"
#include "harness/analyse/gains.hpp"
#include "harness/analyse/host_growth.hpp"
#include "harness/analyse/library_cache.hpp"
#include "harness/analyse/storage_growth.hpp"
#include "harness/analyse/suspects.hpp"

namespace stepleak {
namespace {

// A leak that pauses comes back after a while like those between its events before; four such whiles are no pause.
constexpr std::int64_t kSilences = 4;

StepRange recorded_range(const Evidence& evidence) {
  return {.first = evidence.recording.pass.first_step, .last = evidence.recording.last_step()};
}

// Whether a ledger has stood still, up to the record pass's end, for much longer than ever between two of its rises.
bool is_silent(const Evidence& evidence, const SeriesKey& key) {
  const auto values = values_of(evidence.trace, key, {evidence.trends.judged().first, evidence.recording.last_step()});
  std::size_t last_rise = 0;
  std::size_t longest = 1;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i] <= values[i - 1]) continue;
    // The first half is warm-up: what was rare there may be frequent later.
    if (last_rise > values.size() / 2) longest = std::max(longest, i - last_rise);
    last_rise = i;
  }
  const auto silence = static_cast<std::int64_t>(values.size() - 1 - last_rise);
  return silence >= evidence.recording.steps && silence > kSilences * static_cast<std::int64_t>(longest);
}

// What says nothing by itself of what stays: a step's peak follows the level that it starts from, the allocator's
// blocks follow the tensors in them, and a record pass disturbs the host's memory, which is judged again at the next
// look.
bool is_following(Counter counter) {
  using enum Counter;
  switch (counter) {
    case peak_bytes:
    case resident_bytes:
    case heap_bytes:
    case mapped_bytes:
    case python_blocks:
    case children_bytes:
    case requested_bytes:
    case active_bytes:
    case segment_count:
    case inactive_split_bytes:
    case largest_free_block_bytes:
      return true;
    default:
      return false;
  }
}

// What a ledger rose by a step among some; none where it was read less often than twice there.
std::optional<double> rise_in(const Ledger* ledger, StepRange range) {
  if (ledger == nullptr) return std::nullopt;
  const auto steps = ledger->steps();
  const auto first = std::lower_bound(steps.begin(), steps.end(), range.first);
  const auto end = std::upper_bound(first, steps.end(), range.last);
  if (end - first < 2) return std::nullopt;
  const auto values =
      ledger->values().subspan(static_cast<std::size_t>(first - steps.begin()), static_cast<std::size_t>(end - first));
  return static_cast<double>(values.back() - values.front()) / static_cast<double>(*(end - 1) - *first);
}

// Whether the process's memory, of which the recorded steps tell nothing, rose by no more than its noise in the last
// eighth before them, as what pauses does (has_paused).
bool has_memory_paused(const Evidence& evidence) {
  const auto judged = evidence.trends.judged();
  const auto last = evidence.recording.pass.first_step - 1;
  const StepRange lately{.first = last - (last - judged.first) / 8, .last = last};
  const auto is_below = [&](Counter counter, double noise) {
    const auto rise = rise_in(evidence.trace.ledger({counter}), lately);
    return !rise || *rise <= noise;
  };
  return is_below(Counter::heap_bytes, kHeapNoiseBytes) && is_below(Counter::python_blocks, kBlockNoise);
}

// Whether all that grew stands still by now. Memory outside the allocator is not read at each boundary.
bool has_stopped(const Evidence& evidence) {
  // Python's objects alone do not speak for what others take of the heap.
  bool has_grown = false;
  bool have_objects_grown = false;
  for (const auto& ledger : evidence.trace.ledgers()) {
    const auto& key = ledger.key();
    if (key.moment == Moment::before_collection || is_following(key.counter)) continue;
    if (!evidence.trends.of(key).is_growing()) continue;
    if (key.counter == Counter::outside_bytes || !is_silent(evidence, key)) return false;
    (key.counter == Counter::python_objects ? have_objects_grown : has_grown) = true;
  }
  return has_grown || (have_objects_grown && (!evidence.trends.heap().is_growing() || has_memory_paused(evidence)));
}

// Whether what rises and falls in turn comes as high in the second half, and back to as little: no higher, as by luck
// what is random does beside a rare leak, says too little.
bool stays_within(const std::vector<std::int64_t>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  const auto [least, most] = std::minmax_element(values.begin(), middle);
  const auto [later_least, later_most] = std::minmax_element(middle, values.end());
  return *later_least == *least && *later_most == *most;
}

// Whether all that grew did so far more slowly in the recorded steps, by the rule of a trend's windows, of which they
// are one more. What falls now and then may rise again, unless it stays within what it was. Python's objects are some
// of the search's own in these steps, and say nothing beside what grew with them.
bool has_slowed(const Evidence& evidence) {
  const auto recorded = recorded_range(evidence);
  bool is_any = false;
  for (const auto& ledger : evidence.trace.ledgers()) {
    const auto& key = ledger.key();
    const auto& trend = evidence.trends.of(key);
    const bool says_little = is_following(key.counter) || key.counter == Counter::python_objects;
    if (key.moment == Moment::before_collection || says_little || !trend.is_growing()) continue;
    const bool is_of_events = key.counter == Counter::live_blocks || key.counter == Counter::live_nodes;
    const auto expected = trend.per_step * static_cast<double>(evidence.recording.steps);
    if (is_of_events && expected < kExpectedEvents) return false;
    // Bytes of blocks are told by these.
    if (!is_of_events && !evidence.trends.of({Counter::live_blocks, key.device}).is_growing()) return false;
    const auto values = values_of(evidence.trace, key, recorded);
    if (std::is_sorted(values.begin(), values.end())) {
      const auto rise = rise_in(&ledger, recorded);
      if (!rise || *rise >= kSlowestPart * trend.per_step) return false;
    } else if (!stays_within(values)) {
      return false;
    }
    is_any = true;
  }
  return is_any;
}

// The container that keeps a finding; null where none is known.
const ObjectNode* container_of(const Recording& recording, const Finding& finding) {
  const auto* holder = holder_of(finding, recording);
  if (holder == nullptr || holder->container < 0) return nullptr;
  return &recording.objects.nodes.at(static_cast<std::size_t>(holder->container));
}

// Whether blocks that grew were cleared for the first time while steps were recorded: they came down to where they
// began, and what keeps a finding holds no more than these steps can have put in. What was left the next look will
// show.
bool has_been_cleared(const Evidence& evidence, const Finding& finding) {
  constexpr std::int64_t kFew = 4;
  const auto* container = container_of(evidence.recording, finding);
  const auto judged = evidence.trends.judged();
  const bool is_short = container != nullptr && container->length < evidence.recording.steps &&
                        judged.count() >= kFew * evidence.recording.steps;
  const SeriesKey key{Counter::live_blocks, finding.device};
  if (!is_short || !evidence.trends.of(key).is_growing()) return false;
  if (!clearings_of(evidence.trace, finding.device, judged).empty()) return false;
  const auto before = values_of(evidence.trace, key, judged);
  const auto recorded = values_of(evidence.trace, key, recorded_range(evidence));
  return !before.empty() && !recorded.empty() && *std::min_element(recorded.begin(), recorded.end()) <= before.front();
}

// Whether what drops the old of a container has yet to begin, or has done so too lately for the trend to show: it is
// full, and was filling for most of the run.
bool is_expiry_to_come(const Evidence& evidence, Device device) {
  const auto judged = evidence.trends.judged();
  if (!is_any_old_dying(evidence.trace, device, judged)) return true;
  const SeriesKey bytes{Counter::live_bytes, device};
  const auto per_step = evidence.trends.of(bytes).per_step;
  const auto rise = rise_in(evidence.trace.ledger(bytes), recorded_range(evidence));
  if (rise && *rise < kSlowestPart * per_step) return true;
  return has_paused(values_of(evidence.trace, bytes, {judged.first, evidence.recording.last_step()}), per_step);
}

// Whether something empties the container and has not done so yet. What was emptied meanwhile, and grows all the same,
// keeps a remainder.
bool is_reset_to_come(const Evidence& evidence, const Finding& finding) {
  const auto type = finding.structure.type;
  if (type == StructureType::expiring) return is_expiry_to_come(evidence, finding.device);
  if (type != StructureType::reset) return false;
  // A buffer that is made anew is no more blocks.
  const auto counter = finding.count_per_step > 0 ? Counter::live_blocks : Counter::live_bytes;
  const auto values = values_of(evidence.trace, {counter, finding.device}, evidence.trends.judged());
  if (values.empty()) return true;
  std::int64_t highest = values.front();
  std::int64_t deepest_fall = 0;
  for (const auto value : values) {
    highest = std::max(highest, value);
    deepest_fall = std::max(deepest_fall, highest - value);
  }
  return 2 * deepest_fall < highest - values.front();
}

bool is_bounded_some_time(const Evidence& evidence, const Finding& finding) {
  const auto type = finding.structure.type;
  using enum StructureType;
  return type == bounded || type == keyed || type == conditional || is_reset_to_come(evidence, finding);
}

// Whether a container lets go of the better part of what it takes: it would grow by all of that if it kept it.
bool is_replacing(const Evidence& evidence, const Finding& finding) {
  double taken = 0;
  for (const auto& survivor : evidence.recording.survivors) {
    const bool is_its = survivor.type == SurvivorType::tensor && survivor.holder == finding.holder_index;
    if (is_its && is_old(evidence.recording, survivor)) taken += static_cast<double>(taken_bytes(survivor));
  }
  return 2 * finding.bytes_per_step * static_cast<double>(evidence.recording.proof_steps()) < taken;
}

// Entries a step.
double rate_of(std::int64_t entries, std::int64_t steps) {
  return static_cast<double>(entries) / static_cast<double>(std::max<std::int64_t>(1, steps));
}

double recorded_rate(const Recording& recording, const Finding& finding) {
  return gained_rate(recording, recording.holders.at(static_cast<std::size_t>(finding.holder_index)));
}

// Entries a step at which a container fills: the mean of all steps so far, and that of the recorded ones where it is
// higher: the container may have been emptied meanwhile. Set-up may have put more in at once: of a rate of more than
// one entry a step, half is counted on, unless both are the same.
double filling_rate(const Recording& recording, const Finding& finding, std::int64_t held) {
  constexpr double kSame = 0.9;
  const auto mean = rate_of(std::max<std::int64_t>(1, held), recording.last_step());
  const auto recorded = recorded_rate(recording, finding);
  const auto [lower, rate] = std::minmax(mean, recorded);
  if (lower >= kSame * rate) return lower;
  return rate <= 1 ? rate : std::max(1.0, rate / 2);
}

// How many a container holds. Of one that was found in the sources that is not seen: as many as if it had gained in
// every step what it gained in the recorded ones.
std::int64_t entries_of(const ObjectNode& container, const Holder& holder, const Recording& recording) {
  if (!holder.is_of_sources) return container.length - std::min(holder.free_entries, container.length);
  return static_cast<std::int64_t>(gained_rate(recording, holder) * static_cast<double>(recording.last_step()));
}

// Whether a container that the same line fills, up to the same bound, had room when the recorded steps began, and got
// entries in them: of the lists of a table, one for each key, some are full long before others.
bool has_filled_beside(const Recording& recording, const Holder& full) {
  return std::any_of(recording.holders.begin(), recording.holders.end(), [&](const Holder& holder) {
    const bool is_alike =
        holder.structure.type == full.structure.type && holder.structure.bound == full.structure.bound;
    const bool is_of_line = holder.kept_by.file == full.kept_by.file && holder.kept_by.line == full.kept_by.line;
    return holder.gained_entries > 0 && is_alike && is_of_line;
  });
}

RecordOutcome bounded_outcome(const Evidence& evidence, const Finding& finding) {
  RecordOutcome outcome{.type = RecordOutcome::Type::open, .holder = finding.holder, .structure = finding.structure};
  const auto* container = container_of(evidence.recording, finding);
  const bool is_buffer = finding.kind == Kind::growing_buffer;
  if (container == nullptr) {
    // A buffer that is cut, a chain or a tuple is no container whose entries count.
    const auto type = finding.structure.type;
    const bool is_any_buffer = is_buffer || finding.kind == Kind::host_heap;
    const bool is_cut = is_any_buffer && type == StructureType::bounded;
    if (is_cut || type == StructureType::conditional || is_reset_to_come(evidence, finding))
      outcome.type = RecordOutcome::Type::filling;
    return outcome;
  }
  outcome.bound = bound_of(*container, finding.structure);
  const auto& holder = evidence.recording.holders.at(static_cast<std::size_t>(finding.holder_index));
  outcome.has_repeated = finding.kept_count < finding.explained_steps && !holder.has_new_keys_only &&
                         evidence.trends.of({Counter::live_blocks, finding.device}).period == 0;
  if (outcome.bound <= 0) {
    if (!is_bounded_some_time(evidence, finding)) return outcome;
    outcome.type = RecordOutcome::Type::filling;
    // One that takes no more entries has all its keys, and larger ones take the place of others.
    if (!holder.is_of_sources && holder.gained_entries == 0 && are_sizes_growing(evidence.trends, finding.device)) {
      outcome.type = RecordOutcome::Type::full;
      outcome.bound = container->length;
    }
    outcome.is_decaying =
        is_decaying(values_of(evidence.trace, {Counter::live_blocks, finding.device}, evidence.trends.judged()));
    outcome.are_old_dying = are_old_dying(evidence.trace, finding.device, evidence.trends.judged());
    return outcome;
  }
  const auto end = evidence.recording.last_step();
  outcome.held = entries_of(*container, holder, evidence.recording);
  // At the rate at which it filled so far; a container that is full already makes room for what comes.
  const auto rate = filling_rate(evidence.recording, finding, outcome.held);
  const auto missing = std::max<std::int64_t>(0, outcome.bound - outcome.held);
  if (missing == 0 && evidence.trends.judged().first > 1) {
    // It had been run full before these steps were judged, and they grow all the same. Where it is no more blocks, and
    // bytes that never repeat, or a few blocks more of the many that it takes, chance may have put the larger ones
    // last.
    const bool are_blocks_flat = evidence.trends.of({Counter::live_blocks, finding.device}).is_flat();
    const bool is_chance = are_blocks_flat ? evidence.trends.of({Counter::live_bytes, finding.device}).period == 0
                                           : is_replacing(evidence, finding);
    if (is_chance || has_filled_beside(evidence.recording, holder)) outcome.type = RecordOutcome::Type::full;
    return outcome;
  }
  outcome.type = RecordOutcome::Type::bounded;
  outcome.was_emptied = 2 * rate_of(outcome.held, end) < recorded_rate(evidence.recording, finding);
  const auto steps_for = [rate](std::int64_t entries) {
    return static_cast<std::int64_t>(std::ceil(static_cast<double>(entries) / rate));
  };
  outcome.full_at = end + steps_for(missing);
  const auto gained = recorded_rate(evidence.recording, finding);
  outcome.bytes_when_full = gained > 0 ? finding.bytes_per_step / gained * static_cast<double>(outcome.bound)
                                       : finding.bytes_per_step * static_cast<double>(outcome.full_at);
  outcome.device = finding.device;
  return outcome;
}

// Whether the recorded steps are as many as a growth takes to repeat. Where it repeats exactly, a pass that is shorter
// may have missed it.
bool is_long_enough(const Evidence& evidence, const SeriesKey& key) {
  const auto proof_steps = evidence.recording.proof_steps();
  return proof_steps > 0 && evidence.trends.of(key).period <= proof_steps;
}

// Whether the nodes that are alive at boundaries become more, and none of a recorded step outlives it.
bool is_graph_of_the_step(const Evidence& evidence) {
  const SeriesKey nodes{Counter::live_nodes};
  return evidence.trends.of(nodes).is_growing() && is_long_enough(evidence, nodes) &&
         old_nodes(evidence.recording).empty();
}

// Whether all that stays of the recorded steps is one tensor without a graph that a variable holds, and no container:
// the newest, which the next takes the place of.
bool is_newest_of_variable(const Recording& recording, const Finding& finding) {
  if (finding.holder_index < 0 || finding.kept_count > 1) return false;
  const auto& holder = recording.holders.at(static_cast<std::size_t>(finding.holder_index));
  return holder.container < 0 && holder.graph < 0;
}

// Whether all that the allocator took was for CUDA streams that had nothing of it before: its blocks belong to one
// stream each, and torch hands out some tens of streams, in turn.
bool is_spreading(const Recording& recording, const Finding& finding) {
  if (finding.kind != Kind::fragmentation_drift) return false;
  const auto segments = segments_taken(recording, finding.device);
  return !segments.empty() && std::all_of(segments.begin(), segments.end(), [](const Survivor* segment) {
    return segment->handle == HandleType::first_segment;
  });
}

// Whether the better part of the Python objects that the recorded steps left were garbage, to which only led what had
// been set apart from the collector: the root that a tree had at the beginning leads to all later ones.
bool is_withheld(const Evidence& evidence) {
  const auto& objects = evidence.trends.of({Counter::python_objects});
  return objects.is_growing() && 2 * static_cast<double>(evidence.recording.set_apart_garbage) >=
                                     objects.per_step * static_cast<double>(evidence.recording.steps);
}

// Whether tensors become more, if only now and then: what fills with them has host memory of its own.
bool are_tensors_rising(const Evidence& evidence) {
  const auto devices = evidence.trace.devices();
  return std::any_of(devices.begin(), devices.end(), [&](const Device& device) {
    const SeriesKey key{Counter::live_bytes, device};
    return !evidence.trends.of(key).is_flat() &&
           has_upward_trend(values_of(evidence.trace, key, evidence.trends.judged()));
  });
}

}  // namespace

bool is_wait_over(const RecordOutcome& outcome, std::int64_t steps, const Policy& policy) {
  if (outcome.type != RecordOutcome::Type::filling) return false;
  const auto type = outcome.structure.type;
  // A data set has hundreds of samples before the first comes again, and a pool hundreds of entries before it makes
  // room: few steps say nothing of them.
  const auto few_steps = Policy{}.last_to_record();
  const bool may_go_on = type == StructureType::conditional || (type == StructureType::keyed && !outcome.has_repeated);
  const bool is_slowing = outcome.is_decaying || outcome.are_old_dying;
  return may_go_on && !is_slowing && steps >= few_steps && steps >= policy.last_to_record();
}

bool is_waited_for_in_vain(const RecordOutcome& outcome, std::int64_t steps, const Policy& policy) {
  const auto type = outcome.structure.type;
  const bool may_go_on = type == StructureType::conditional || type == StructureType::keyed;
  return may_go_on && is_wait_over(outcome, steps, policy);
}

// Of what lies in the only place that there is for it, as the gradient of an older parameter does, there is never more,
// unless it is larger each time.
bool is_alone_in_its_place(const Evidence& evidence, const Finding& finding) {
  const auto* container = container_of(evidence.recording, finding);
  const bool is_one = container != nullptr && container->length == 1 && bound_of(*container, finding.structure) == 1;
  return is_one && holder_of(finding, evidence.recording)->gained_entries == 0 &&
         !are_sizes_growing(evidence.trends, finding.device);
}

bool says_nothing(const Finding& finding) { return finding.bytes_per_step <= 0 && finding.count_per_step <= 0; }

// Whether the heap grows as one buffer does that makes room ahead, by nothing that the recorded steps show. What a
// container of Python's takes is seen between two stairs, too: this may be an array that is made twice as long up to a
// size, and then used as a ring.
bool is_unseen_buffer_of_python(const Evidence& evidence) {
  const auto& mapped = evidence.trends.of({Counter::mapped_bytes});
  return evidence.trace.facts().has_python && (evidence.trends.heap().is_in_stairs || mapped.is_in_stairs);
}

// What takes the place of a smaller one is none that stays; but where the graph of each step is larger than the last
// one's and is gone with it, what it needs is, too. Of the heap nobody may be seen, where a library keeps it; but not
// beside tensors that fill something now and then, of which the recorded steps had none.
bool is_refuted(const Evidence& evidence, const Finding& finding) {
  const bool is_unseen = finding.holder_index < 0 && finding.where.empty();
  if (finding.kind == Kind::host_heap && is_unseen) {
    if (are_tensors_rising(evidence) || is_unseen_buffer_of_python(evidence)) return true;
  }
  if (is_alone_in_its_place(evidence, finding)) return true;
  const bool is_of_a_graph = finding.counted == Counted::autograd_nodes || finding.count_per_step <= 0;
  if (is_of_a_graph && is_graph_of_the_step(evidence)) return true;
  const bool are_blocks = finding.counted == Counted::blocks && finding.kind != Kind::growing_buffer;
  const bool is_counted = finding.count_per_step > 0 || are_sizes_growing(evidence.trends, finding.device);
  if (!are_blocks || !is_counted || !is_long_enough(evidence, {Counter::live_bytes, finding.device})) return false;
  if (old_blocks(evidence.recording, finding.device).empty()) {
    return renewed_storages(evidence.recording, finding.device).empty();
  }
  return is_newest_of_variable(evidence.recording, finding);
}

bool is_outweighed(const Recording& recording, const Finding& finding, const std::vector<Finding>& findings) {
  const auto* own = holder_of(finding, recording);
  const bool is_full = own != nullptr && own->container >= 0 && !own->is_of_sources && own->gained_entries == 0 &&
                       !has_no_known_end(own->structure);
  if (!is_full) return false;
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& other) {
    const auto* holder = holder_of(other, recording);
    if (!other.has_gained || holder == nullptr || !has_no_known_end(holder->structure)) return false;
    const auto gained = static_cast<double>(holder->gained_bytes + holder->gained_block_bytes);
    return holder->gained_entries >= kFewestEntries &&
           gained > finding.bytes_per_step * static_cast<double>(recording.steps);
  });
}

bool is_proven(const Finding& finding) {
  if (!never_ends(finding.structure)) return false;
  // What a library keeps in the heap, and CUDA objects of a pool's, survive beside a list that grows.
  const bool is_weighed = finding.kind == Kind::host_heap || finding.counted == Counted::cuda_objects;
  return is_weighed ? finding.has_gained : finding.kept_count > 1;
}

RecordOutcome outcome_of(const Evidence& evidence, const std::vector<Finding>& findings) {
  using Type = RecordOutcome::Type;
  const bool is_any_proven = std::any_of(findings.begin(), findings.end(), is_proven);
  const bool is_heap_proven = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.kind == Kind::host_heap && is_proven(finding);
  });
  if (has_stopped(evidence) && !is_heap_proven) return {.type = Type::contradicted};
  if (is_any_proven) return {.type = Type::proven};
  if (is_withheld(evidence)) return {.type = Type::withheld};
  const auto is_cleared = [&](const Finding& finding) { return has_been_cleared(evidence, finding); };
  if (std::any_of(findings.begin(), findings.end(), is_cleared)) return {.type = Type::contradicted};
  if (has_slowed(evidence)) return {.type = Type::slowed};
  RecordOutcome latest;
  bool is_any_left = findings.empty();
  for (const auto& finding : findings) {
    if (says_nothing(finding) || is_refuted(evidence, finding)) continue;
    is_any_left = true;
    if (auto library = caching_library(evidence, finding); !library.empty()) {
      latest = {.type = Type::caching, .holder = std::move(library)};
      continue;
    }
    if (is_spreading(evidence.recording, finding)) {
      latest = {.type = Type::spreading};
      continue;
    }
    const auto outcome = bounded_outcome(evidence, finding);
    if (outcome.type == Type::open) return outcome;
    const bool is_to_be_waited_for = outcome.type == Type::filling || outcome.type == Type::full;
    if (is_to_be_waited_for || outcome.full_at >= latest.full_at) latest = outcome;
    if (is_to_be_waited_for) break;
  }
  if (is_any_left) return latest;
  const auto nodes_added = is_graph_of_the_step(evidence) ? evidence.trends.of({Counter::live_nodes}).per_step : 0;
  return {.type = Type::contradicted, .nodes_added = nodes_added};
}

}  // namespace stepleak
