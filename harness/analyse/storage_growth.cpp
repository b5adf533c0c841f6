// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/analyse/storage_growth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/analyse/ages.hpp"
#include "harness/analyse/device_growth.hpp"
#include "harness/analyse/gains.hpp"
#include "harness/analyse/suspects.hpp"
#include "harness/base/bytes.hpp"
#include "harness/trace/holder_text.hpp"

namespace stepleak {
namespace {

// Views that need this part of their storage or less: copying them would save as much as it costs.
constexpr std::int64_t kPinnedFactor = 2;

std::int64_t taken_bytes(const std::vector<const Survivor*>& survivors) {
  std::int64_t bytes = 0;
  for (const auto* survivor : survivors) bytes += taken_bytes(*survivor);
  return bytes;
}

// By storage, what the old tensors need of it together.
std::map<std::uint64_t, std::int64_t> needed_bytes(const Recording& recording, Device device) {
  std::map<std::uint64_t, std::int64_t> needed;
  for (const auto& survivor : recording.survivors) {
    if (needs_storage(recording, survivor, device)) needed[survivor.storage] += survivor.bytes;
  }
  return needed;
}

void group_survivors(const Recording& recording, StorageGrowth& growth) {
  std::set<std::uint64_t> used;
  const auto needed = needed_bytes(recording, growth.device);
  const auto storages = old_storages(recording, growth.device);
  for (const auto* tensor : storages) used.insert(tensor->storage);
  // What lies in shared memory is in no block.
  const bool is_any_old = !storages.empty() || !old_blocks(recording, growth.device).empty();
  const auto kept = is_any_old ? without_replacements(recording, storages) : renewed_storages(recording, growth.device);
  for (const auto* tensor : kept) {
    if (tensor->is_unreachable || tensor->is_in_cycle) growth.unreachable.push_back(tensor);
    if (is_any_old && needed.at(tensor->storage) * kPinnedFactor <= tensor->storage_bytes) {
      growth.views.push_back(tensor);
    } else if (tensor->is_computed) {
      growth.computed.push_back(tensor);
    } else {
      growth.fresh.push_back(tensor);
    }
  }
  growth.unknown = survivors_where(recording, [&](const Survivor& s) {
    return s.type == SurvivorType::block && s.device == growth.device && is_old(recording, s) &&
           !used.contains(s.storage);
  });
  for (const auto* block : growth.unknown) {
    if (block->is_unreachable) growth.unreachable.push_back(block);
  }
}

// The number of blocks may rise too irregularly to be judged. Where the back end does not count them, what the recorded
// steps left tells.
bool is_in_few_blocks(const Evidence& evidence, const StorageGrowth& growth) {
  if (!growth.bytes.is_growing() || growth.blocks.is_growing()) return false;
  if (growth.is_shared || evidence.trace.has({Counter::live_blocks, growth.device})) return true;
  return !evidence.recording.is_empty() && old_storages(evidence.recording, growth.device).empty();
}

// Of shared memory that no tensor is known to use: the container that took most entries; -1: none did.
int holder_of_shared(const Recording& recording, const StorageGrowth& growth) {
  if (!growth.is_shared || !old_storages(recording, growth.device).empty()) return -1;
  int found = -1;
  std::int64_t most = kFewestEntries - 1;
  for (int index = 0; index < static_cast<int>(recording.holders.size()); ++index) {
    const auto& holder = recording.holders[static_cast<std::size_t>(index)];
    if (holder.container < 0 || holder.gained_entries <= most) continue;
    found = index;
    most = holder.gained_entries;
  }
  return found;
}

// What survivors of one sort take, and whether they prove a leak: what a buffer that is full has in the place of older
// entries may take more, and proves none.
struct Share {
  StorageGrowth::Cause cause;
  std::int64_t bytes = 0;
  bool is_kept_for_ever = false;
};

Share share_of(const Recording& recording, const std::vector<const Survivor*>& survivors, StorageGrowth::Cause cause) {
  std::vector<const Survivor*> kept;
  for (const auto* survivor : survivors) {
    if (is_kept_for_ever(recording, *survivor)) kept.push_back(survivor);
  }
  return {.cause = cause, .bytes = taken_bytes(survivors), .is_kept_for_ever = steps_kept(kept) >= kFewestEntries};
}

StorageGrowth::Cause cause_of(const Evidence& evidence, const StorageGrowth& growth) {
  using Cause = StorageGrowth::Cause;
  const auto& recording = evidence.recording;
  if (is_in_few_blocks(evidence, growth) && holder_of_shared(recording, growth) < 0 &&
      !is_growth_of_all_ages(evidence.trace, growth.device, evidence.trends.judged()))
    return Cause::buffer;
  if (2 * taken_bytes(growth.unreachable) > old_block_bytes(recording, growth.device) && !growth.unreachable.empty()) {
    return Cause::unreachable;
  }
  // Of equal ones the first, and last what no tensor is known to use, of which nothing more can be said.
  const Share shares[] = {
      share_of(recording, growth.views, Cause::views), share_of(recording, growth.computed, Cause::computed),
      share_of(recording, growth.fresh, Cause::fresh), share_of(recording, growth.unknown, Cause::unknown)};
  const auto* largest = std::max_element(std::begin(shares), std::end(shares), [](const Share& a, const Share& b) {
    return std::pair(a.is_kept_for_ever, a.bytes) < std::pair(b.is_kept_for_ever, b.bytes);
  });
  return largest->bytes > 0 ? largest->cause : Cause::unknown;
}

// On a GPU nobody counts tensors in the screen pass.
Trend tensor_trend(const Evidence& evidence) {
  if (evidence.trace.has({Counter::live_tensors})) return evidence.trends.of({Counter::live_tensors});
  return recorded_trend(evidence.recording, survivors_where(evidence.recording, [&](const Survivor& s) {
                          return s.type == SurvivorType::tensor && is_old(evidence.recording, s);
                        }));
}

// Whether some that were recorded have no memory of their own on a GPU: a block that was made with them is theirs.
bool has_shells(const Recording& recording) {
  std::set<std::uint64_t> made;
  for (const auto& survivor : recording.survivors) {
    if (survivor.type == SurvivorType::block && survivor.device != kHost) made.insert(survivor.storage);
  }
  return std::any_of(recording.survivors.begin(), recording.survivors.end(), [&](const Survivor& s) {
    return s.type == SurvivorType::tensor && is_old(recording, s) && !made.contains(s.storage);
  });
}

// Whether a holder keeps all that belongs to what it holds, made elsewhere: a lambda the weights of its own module, and
// an optimizer the gradients and the state of a group of parameters that was added and stays.
bool holds_what_belongs_to_it(const Recording& recording, const Holder& holder) {
  if (!holder.is_of_sources) return false;
  if (holds_its_own(recording.objects.nodes.at(static_cast<std::size_t>(holder.container)).type)) return true;
  return has_no_known_end(holder.structure) && holder.kept_by.calls_a(kGrouping);
}

// Where such a holder keeps something of as many steps.
void add_holder_of_others(const Recording& recording, Device device, Finding& finding) {
  std::map<int, std::vector<const Survivor*>> of_holders;
  for (const auto* tensor : old_storages(recording, device)) {
    if (tensor->holder >= 0) of_holders[tensor->holder].push_back(tensor);
  }
  for (const auto& [index, tensors] : of_holders) {
    const auto& holder = recording.holders.at(static_cast<std::size_t>(index));
    if (!holds_what_belongs_to_it(recording, holder) || steps_kept(tensors) < finding.kept_count) continue;
    set_holder(recording, index, finding);
    return;
  }
}

}  // namespace

bool are_sizes_growing(const Trends& trends, Device device) {
  return trends.of({Counter::live_bytes, device}).is_growing() && trends.of({Counter::live_blocks, device}).is_flat();
}

std::vector<StorageGrowth> storage_growths_of(const Evidence& evidence) {
  std::vector<StorageGrowth> growths;
  const auto devices = evidence.trace.devices();
  const bool have_bytes = std::any_of(devices.begin(), devices.end(), [&](const Device& device) {
    return evidence.trends.of({Counter::live_bytes, device}).is_growing();
  });
  // Tensors that bypass the caching allocator, or are page-locked, have memory, too.
  const auto gpus = device_growths_of(evidence.trace, evidence.trends);
  const bool have_outside =
      pinned_trend(evidence.trends).is_growing() ||
      std::any_of(gpus.begin(), gpus.end(), [](const auto& gpu) { return gpu.outside.is_growing(); });
  const bool may_be_shells =
      !have_bytes && !have_outside && (evidence.recording.is_empty() || has_shells(evidence.recording));
  const auto tensors = tensor_trend(evidence);
  for (const auto& device : devices) {
    StorageGrowth growth{.device = device,
                         .bytes = evidence.trends.of({Counter::live_bytes, device}),
                         .blocks = evidence.trends.of({Counter::live_blocks, device})};
    // What lies in shared memory is in no block of an allocator.
    if (const auto shared = shared_trend(evidence.trends);
        device == kHost && !growth.bytes.is_growing() && shared.is_growing()) {
      growth.bytes = shared;
      growth.blocks = tensors;
      growth.is_shared = true;
    }
    // Tensors without memory of their own on any device: views, and what is empty.
    const bool is_shell_growth = may_be_shells && device == kHost && tensors.is_growing();
    // Bytes may vary by more than what stays.
    const bool is_counted = growth.blocks.is_growing() && !old_blocks(evidence.recording, device).empty();
    if (!growth.bytes.is_growing() && !is_shell_growth && !is_counted) continue;
    // Recorded ones say what they are, or that others do.
    if (is_shell_growth && evidence.recording.is_empty()) {
      growth.blocks = tensors;
      growth.are_shells = true;
    }
    group_survivors(evidence.recording, growth);
    growth.cause = cause_of(evidence, growth);
    growths.push_back(std::move(growth));
  }
  std::stable_sort(growths.begin(), growths.end(),
                   [](const StorageGrowth& a, const StorageGrowth& b) { return a.bytes.per_step > b.bytes.per_step; });
  return growths;
}

Finding storage_finding(const Recording& recording, const StorageGrowth& growth, Kind kind,
                        const std::vector<const Survivor*>& suspects) {
  Finding finding{.kind = kind, .device = growth.device};
  finding.bytes_per_step = std::max(0.0, growth.bytes.per_step);
  finding.count_per_step = std::max(0.0, growth.blocks.per_step);
  finding.counted = growth.is_shared || growth.are_shells ? Counted::tensors : Counted::blocks;
  finding.since_step = growth.are_shells ? growth.blocks.since_step : growth.bytes.since_step;
  add_suspects(recording, suspects, finding);
  // What is renewed is of the newest steps alone, whichever keep it.
  const auto is_renewed = [&](const Survivor* suspect) { return gains_what_is_renewed(recording, *suspect); };
  if (std::any_of(suspects.begin(), suspects.end(), is_renewed)) finding.kept_count = finding.explained_steps = 0;
  // What a backward pass on a GPU makes has no frame of the user's; what was allocated beside it may.
  if (finding.where.empty()) add_suspects(recording, old_blocks(recording, growth.device), finding);
  if (finding.holder_index < 0) add_holder_of_others(recording, growth.device, finding);
  const auto of_shared = finding.holder_index < 0 ? holder_of_shared(recording, growth) : -1;
  if (of_shared >= 0) {
    set_holder(recording, of_shared, finding);
    finding.where = where_kept(finding.kept_by);
    finding.kept_count = finding.explained_steps = 0;  // nobody looks at what is in a segment
  }
  const auto* noun = growth.is_shared ? "shared tensor" : growth.are_shells ? "tensor" : "block";
  auto blocks = growth_text(finding.count_per_step, growth.blocks.period, noun, gap_between_kept(finding));
  // Larger ones took the place of others.
  if (finding.count_per_step <= 0) {
    const auto* more = growth.is_shared ? " of shared memory" : " more";
    blocks = {format_bytes(finding.bytes_per_step) + more, "every step", false};
  }
  std::string what = blocks.count;
  if (const auto* example = example_of(suspects, finding);
      example != nullptr && example->type == SurvivorType::tensor) {
    const auto* of_which = blocks.is_one && finding.counted == Counted::tensors ? "" : " of a tensor";
    what += fmt::format("{} ({}, {}-dim, {} of {})", of_which, example->name, example->dims,
                        format_bytes(static_cast<double>(example->bytes)),
                        format_bytes(static_cast<double>(example->storage_bytes)));
  }
  finding.what = fmt::format("{} {} of {} since step {}", what, blocks.is_one ? "stays" : "stay", blocks.every,
                             finding.since_step);
  finding.accounts_for = {{growth.is_shared ? Counter::shared_bytes : Counter::live_bytes, growth.device},
                          {Counter::live_tensors},
                          {Counter::heap_bytes},
                          {Counter::python_objects},
                          {Counter::python_blocks}};
  return finding;
}

}  // namespace stepleak
