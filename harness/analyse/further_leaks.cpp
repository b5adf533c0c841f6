// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/analyse/further_leaks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/analyse/gains.hpp"
#include "harness/analyse/record_outcome.hpp"
#include "harness/analyse/suspects.hpp"
#include "harness/base/bytes.hpp"

namespace stepleak {
namespace {

// All objects on the way from a root to what is held.
std::set<int> way_of(const Recording& recording, const Holder& holder) {
  std::set<int> way{holder.held};
  for (const auto index : holder.path) {
    const auto& edge = recording.objects.edges.at(static_cast<std::size_t>(index));
    way.insert(edge.from);
    way.insert(edge.to);
  }
  return way;
}

// The holder of each finding is known.
bool is_named(const Recording& recording, const Holder& holder, const std::vector<Finding>& findings) {
  const auto way = way_of(recording, holder);
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
    const auto& known = recording.holders.at(static_cast<std::size_t>(finding.holder_index));
    return way.contains(known.container) || way_of(recording, known).contains(holder.container);
  });
}

// The one with the same statement: one that fills several containers, each in its turn, is one leak. Null: none.
Finding* find_same(const Finding& further, std::vector<Finding>& findings) {
  const auto same = std::find_if(findings.begin(), findings.end(), [&](const Finding& known) {
    return known.kind == further.kind && known.device == further.device && known.kept_by.is_at(further.kept_by);
  });
  return same == findings.end() ? nullptr : &*same;
}

std::string what_of(const Finding& further) {
  const auto bytes = format_bytes(further.bytes_per_step);
  if (further.kind != Kind::host_heap) return fmt::format("{} of tensors a step stay as well", bytes);
  if (further.bytes_per_step >= kHeapFloorBytes)
    return fmt::format("{} of host heap outside tensors a step stay as well", bytes);
  return fmt::format("{:.0f} small python blocks (strings, numbers) a step stay as well", further.count_per_step);
}

void add_to(Finding& known, const Finding& further) {
  known.bytes_per_step += further.bytes_per_step;
  known.count_per_step += further.count_per_step;
  known.what = what_of(known);
}

Kind kind_of(const Holder& holder, const Survivor& example) {
  if (holder.graph >= 0) return example.dims == 0 ? Kind::graph_retention : Kind::attached_activation;
  return example.is_computed ? Kind::detached_activation : Kind::growth;
}

Finding finding_of(const Recording& recording, int index, Kind kind, Device device, double bytes_per_step) {
  Finding finding{.kind = kind, .device = device, .bytes_per_step = bytes_per_step};
  finding.since_step = recording.pass.first_step;
  set_holder(recording, index, finding);
  finding.where = where_kept(finding.kept_by);
  return finding;
}

// The container that a survivor lies in; -1 where that is not known.
int container_of(const Recording& recording, const Survivor& survivor) {
  return survivor.holder < 0 ? -1 : recording.holders.at(static_cast<std::size_t>(survivor.holder)).container;
}

// Of the tensors of each stack whose holder was searched, the part that lies in a container. Not all are searched: what
// was made at one place goes to the same ones.
std::map<int, double> shares_of(const Recording& recording, const std::vector<const Survivor*>& tensors,
                                int container) {
  std::map<int, double> known;
  std::map<int, double> in_it;
  for (const auto* tensor : tensors) {
    const auto own = container_of(recording, *tensor);
    if (own < 0) continue;
    known[tensor->stack] += 1;
    if (own == container) in_it[tensor->stack] += 1;
  }
  for (auto& [stack, count] : in_it) count /= known[stack];
  return in_it;
}

struct Kept {
  std::vector<const Survivor*> survivors;
  double bytes = 0;
};

// A finding for each device with tensors of several recorded steps. `holder_of`: by the largest of the newest of them,
// the holder that is named where theirs is not known.
template <typename HolderOf>
std::vector<Finding> of_kept(const Recording& recording, const std::map<Device, Kept>& kept, HolderOf holder_of) {
  std::vector<Finding> findings;
  for (const auto& [device, there] : kept) {
    if (steps_kept(there.survivors) < kFewestEntries) continue;
    const auto& example = *example_of(there.survivors, Finding{});
    const int index = holder_of(example);
    const auto kind = kind_of(recording.holders.at(static_cast<std::size_t>(index)), example);
    const auto rate = there.bytes / static_cast<double>(recording.proof_steps());
    auto finding = finding_of(recording, index, kind, device, rate);
    add_suspects(recording, there.survivors, finding);
    finding.what = what_of(finding);
    findings.push_back(std::move(finding));
  }
  return findings;
}

// The tensors that lie in a container, on each device.
std::vector<Finding> of_tensors(const Recording& recording, int index) {
  const auto& holder = recording.holders.at(static_cast<std::size_t>(index));
  const auto tensors = survivors_where(
      recording, [&](const Survivor& s) { return s.type == SurvivorType::tensor && is_old(recording, s); });
  const auto shares = shares_of(recording, tensors, holder.container);
  std::map<Device, Kept> kept;
  for (const auto* tensor : tensors) {
    const auto share = shares.find(tensor->stack);
    const auto own = container_of(recording, *tensor);
    if (share == shares.end() || (own >= 0 && own != holder.container)) continue;
    auto& there = kept[tensor->device];
    there.survivors.push_back(tensor);
    there.bytes += (own >= 0 ? 1 : share->second) * static_cast<double>(taken_bytes(*tensor));
  }
  return of_kept(recording, kept, [index](const Survivor&) { return index; });
}

// The tensors on whose way from a root a container lies, where no trend tells of them.
std::vector<Finding> tensors_behind(const Evidence& evidence, int container) {
  const auto& recording = evidence.recording;
  std::map<Device, Kept> kept;
  for (const auto& survivor : recording.survivors) {
    if (survivor.type != SurvivorType::tensor || survivor.holder < 0 || !is_old(recording, survivor)) continue;
    const auto& holder = recording.holders.at(static_cast<std::size_t>(survivor.holder));
    const bool has_settled = evidence.trends.of({Counter::live_bytes, survivor.device}).is_flat();
    if (has_settled || !way_of(recording, holder).contains(container)) continue;
    kept[survivor.device].survivors.push_back(&survivor);
    kept[survivor.device].bytes += static_cast<double>(taken_bytes(survivor));
  }
  auto findings = of_kept(recording, kept, [](const Survivor& example) { return example.holder; });
  for (auto& finding : findings) {
    finding.accounts_for = {{Counter::live_bytes, finding.device}};
    finding.what = fmt::format("{} of tensors stay of every step on average", format_bytes(finding.bytes_per_step));
  }
  return findings;
}

// At least: not of all that a container gained is it known what it takes.
std::vector<Finding> of_host_memory(const Recording& recording, int index) {
  const auto& holder = recording.holders.at(static_cast<std::size_t>(index));
  const auto bytes = static_cast<double>(holder.gained_bytes) / static_cast<double>(recording.steps);
  const auto blocks = static_cast<double>(holder.gained_blocks) / static_cast<double>(recording.steps);
  if (bytes < kHeapFloorBytes && blocks < kBlockFloor) return {};
  auto finding = finding_of(recording, index, Kind::host_heap, kHost, bytes);
  finding.has_gained = true;
  if (bytes < kHeapFloorBytes) {
    finding.count_per_step = blocks;
    finding.counted = Counted::python_blocks;
  }
  finding.what = what_of(finding);
  return {finding};
}

void take_from_first(const Finding& further, std::vector<Finding>& findings) {
  if (further.kind == Kind::host_heap) return;
  const SeriesKey bytes{Counter::live_bytes, further.device};
  for (auto& finding : findings) {
    const auto& ledgers = finding.accounts_for;
    if (std::find(ledgers.begin(), ledgers.end(), bytes) == ledgers.end()) continue;
    finding.bytes_per_step = std::max(0.0, finding.bytes_per_step - further.bytes_per_step);
    return;
  }
}

// Containers beside those of the findings that took entries in several recorded steps: where each is first met.
std::vector<int> others_that_grew(const Recording& recording, const std::vector<Finding>& findings) {
  std::vector<int> others;
  // What keeps a leak whose holder was not found may be any of them.
  if (std::any_of(findings.begin(), findings.end(), [](const Finding& known) { return known.holder_index < 0; }))
    return others;
  std::set<int> seen;
  for (int index = 0; index < static_cast<int>(recording.holders.size()); ++index) {
    const auto& holder = recording.holders.at(static_cast<std::size_t>(index));
    if (holder.container < 0 || holder.gained_entries < kFewestEntries) continue;
    if (is_named(recording, holder, findings) || !seen.insert(holder.container).second) continue;
    others.push_back(index);
  }
  return others;
}

std::vector<Finding> findings_of(const Recording& recording, int index) {
  auto found = of_tensors(recording, index);
  return found.empty() ? of_host_memory(recording, index) : found;
}

bool is_proven_by_sources(const Holder& holder) {
  return never_ends(holder.structure) || holder.structure.type == StructureType::uncalled;
}

}  // namespace

bool tell_of_tensors(const Evidence& evidence, std::vector<Finding>& findings) {
  const bool is_of_host_alone = findings.size() == 1 && findings.front().kind == Kind::host_heap &&
                                findings.front().holder_index >= 0 && is_proven(findings.front());
  if (!is_of_host_alone) return false;
  const auto& holder = evidence.recording.holders.at(static_cast<std::size_t>(findings.front().holder_index));
  if (holder.container < 0) return false;
  auto found = tensors_behind(evidence, holder.container);
  if (found.empty()) return false;
  for (auto& finding : found) finding.structure = holder.structure;
  findings = std::move(found);
  return true;
}

std::vector<Finding> further_leaks(const Evidence& evidence, std::vector<Finding>& findings) {
  const auto& recording = evidence.recording;
  std::vector<Finding> further;
  for (const auto index : others_that_grew(recording, findings)) {
    if (!is_proven_by_sources(recording.holders.at(static_cast<std::size_t>(index)))) continue;
    for (auto& finding : findings_of(recording, index)) {
      // The numbers of a finding that was there are of all that grew.
      if (find_same(finding, findings) != nullptr) continue;
      take_from_first(finding, findings);
      if (auto* same = find_same(finding, further)) {
        add_to(*same, finding);
      } else {
        further.push_back(std::move(finding));
      }
    }
  }
  return further;
}

std::vector<Finding> unproven_beside(const Evidence& evidence, const std::vector<Finding>& findings) {
  const auto& recording = evidence.recording;
  std::vector<Finding> unproven;
  for (const auto index : others_that_grew(recording, findings)) {
    if (is_proven_by_sources(recording.holders.at(static_cast<std::size_t>(index)))) continue;
    for (auto& finding : findings_of(recording, index)) unproven.push_back(std::move(finding));
  }
  return unproven;
}

}  // namespace stepleak
