// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "detectors/host_heap/host_heap_detector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/analyse/gains.hpp"
#include "harness/analyse/host_growth.hpp"
#include "harness/analyse/suspects.hpp"
#include "harness/base/bytes.hpp"

namespace stepleak {
namespace {

// Native allocations of which several steps left some, by one stack.
std::vector<const Survivor*> steady_allocations(const Recording& recording) {
  std::map<int, std::set<std::int64_t>> steps;
  const auto is_one = [&](const Survivor& s) {
    return s.type == SurvivorType::heap && s.stack >= 0 && is_old(recording, s);
  };
  for (const auto* survivor : survivors_where(recording, is_one)) steps[survivor->stack].insert(survivor->birth_step);
  return survivors_where(recording, [&](const Survivor& s) { return is_one(s) && steps[s.stack].size() > 1; });
}

// Whether so many bytes are the better part of what so many steps leave: less may be there beside the leak.
bool is_better_part(double bytes, double bytes_per_step, std::int64_t steps) {
  return 2 * bytes >= bytes_per_step * static_cast<double>(steps);
}

// Where the memory was allocated.
void add_witness(const Recording& recording, double bytes_per_step, Finding& finding) {
  const auto kept = steady_allocations(recording);
  double bytes = 0;
  for (const auto* allocation : kept) bytes += static_cast<double>(allocation->bytes);
  if (is_better_part(bytes, bytes_per_step, recording.proof_steps())) add_suspects(recording, kept, finding);
}

// A library may take as much again for an object as is known of it (a lock, a file's buffer), and malloc for the
// entries of containers: what gained a quarter is named, though it proves nothing.
constexpr double kBetterPart = 0.5;
constexpr double kNamedPart = 0.25;

// Whether all that containers gained is known, and is less than what is called a leak: a log of one small record a
// step. What the heap moves by beside it is its noise.
bool is_below_floor(const Gain& gain, const HostGrowth& growth, std::int64_t steps) {
  if (!gain.is_weighed || growth.objects.per_step >= kHeavyObjects) return false;
  const auto floor = growth.objects.is_growing() ? kSupportedFloorBytes : kHeapFloorBytes;
  return static_cast<double>(gain.bytes) < floor * static_cast<double>(steps) &&
         static_cast<double>(gain.blocks) < kBlockFloor * static_cast<double>(steps);
}

// The least block of Python's own allocator: its ALIGNMENT (Objects/obmalloc.c).
constexpr double kLeastBlockBytes = 16;

// How much containers gained of what the recorded steps left, as a share: in malloc's bytes, or in small blocks of
// Python's own allocator, for which it maps memory that malloc does not hand out.
double share_gained(const Recording& recording, int index, const HostGrowth& growth, double bytes_per_step) {
  if (!is_of_growth(recording.holders.at(static_cast<std::size_t>(index)))) return 0;
  const auto gain = gain_together(recording, index);
  const auto steps = recording.steps;
  if (is_below_floor(gain, growth, steps)) return 0;
  const auto share = [&](std::int64_t gained, double per_step) {
    return per_step > 0 ? static_cast<double>(gained) / (per_step * static_cast<double>(steps)) : 0;
  };
  const auto& blocks = growth.blocks;
  const bool is_in_bytes = growth.heap.is_growing() || growth.mapped.is_growing();
  const bool is_more_in_blocks = kLeastBlockBytes * blocks.per_step >= growth.heap.per_step;
  const bool is_in_blocks = blocks.is_growing() && (!growth.heap.is_growing() || is_more_in_blocks);
  return std::max(is_in_bytes ? share(gain.bytes, bytes_per_step) : 0,
                  is_in_blocks ? share(gain.blocks, blocks.per_step) : 0);
}

// Bytes a step that a buffer must have grown by to be what grew: what a ledger that does not grow moves by is its
// noise, and small blocks lie in no buffer.
double bytes_beside_noise(const HostGrowth& growth, double mapped) {
  const double heap = growth.heap.is_growing() ? growth.heap.per_step : 0;
  const double blocks = growth.blocks.is_growing() ? kLeastBlockBytes * growth.blocks.per_step : 0;
  return heap + std::max(mapped, blocks);
}

// Who holds the one buffer that grew, or else the first container that gained as much; or the first of which it is not
// known what it gained, or that gained a part. -1: nobody was found. A buffer has grown in the recorded steps as the
// heap did, and must hold what all the steps before have left: by chance the newest batch is larger than one before,
// too.
int holder_of_growth(const Recording& recording, const HostGrowth& growth, double heap, double mapped,
                     std::int64_t since_step) {
  const auto first_where = [&](const auto& is_wanted) {
    for (int index = 0; index < static_cast<int>(recording.holders.size()); ++index) {
      if (is_wanted(recording.holders[static_cast<std::size_t>(index)], index)) return index;
    }
    return -1;
  };
  const auto end = recording.pass.first_step + recording.steps;
  const auto beside_noise = bytes_beside_noise(growth, mapped);
  const auto buffer = first_where([&](const Holder& holder, int) {
    return holder.buffer_growth > 0 && beside_noise > 0 &&
           is_better_part(static_cast<double>(holder.buffer_growth), beside_noise, recording.steps) &&
           is_better_part(static_cast<double>(holder.buffer_bytes), beside_noise, end - since_step);
  });
  if (buffer >= 0) return buffer;
  const auto first_with = [&](double share) {
    return first_where(
        [&](const Holder&, int index) { return share_gained(recording, index, growth, heap + mapped) >= share; });
  };
  const auto container = first_with(kBetterPart);
  if (container >= 0) return container;
  // One that is full and got no entry more is as large as it was.
  const auto is_full = [](const Holder& holder) {
    return holder.structure.type == StructureType::bounded && holder.gained_entries == 0;
  };
  const auto unweighed = first_where(
      [&](const Holder& holder, int) { return is_of_growth(holder) && !holder.is_weighed && !is_full(holder); });
  return unweighed >= 0 ? unweighed : first_with(kNamedPart);
}

}  // namespace

std::vector<Finding> HostHeapDetector::detect(const Evidence& evidence) const {
  const auto growth = host_growth_of(evidence.trace, evidence.trends);
  const auto few = holder_of_few_objects(evidence.recording, growth);
  if (!growth.is_leak && few < 0) return {};
  Finding finding{.kind = kind()};
  const double heap = std::max(bytes_of_few_objects(evidence.recording, few), growth.heap.per_step);
  const double mapped = mapped_bytes_lost(evidence.trends);
  const bool is_mapped = mapped > heap;
  finding.bytes_per_step = heap + mapped;
  finding.what =
      fmt::format("{} of {} stay of every step", format_bytes(is_mapped ? mapped : heap),
                  is_mapped ? "host memory that malloc does not hand out (mmap, stacks)" : "host heap outside tensors");
  finding.since_step = is_mapped ? growth.mapped.since_step : growth.heap.since_step;
  // A few objects are no leak: with a holder that makes them one, or beside blocks that do.
  const bool are_objects_told = growth.objects.is_growing() && (few >= 0 || !growth.are_objects_few());
  const bool are_blocks = !are_objects_told && !growth.heap.is_growing() && !is_mapped && growth.blocks.is_growing();
  if (growth.objects.is_growing() && !is_mapped && !are_blocks) {
    finding.count_per_step = growth.objects.per_step;
    finding.counted = Counted::python_objects;
    finding.since_step = growth.objects.since_step;
    const auto objects = growth_text(growth.objects.per_step, growth.objects.period, "python object");
    finding.what = fmt::format("{} {} of {}", objects.count, objects.is_one ? "stays" : "stay", objects.every);
    // Small ones lie where malloc is not asked, and what the heap moves by beside them is its noise.
    if (finding.bytes_per_step >= 1 && (growth.heap.is_growing() || few >= 0)) {
      finding.what += fmt::format(", {} of host heap a step", format_bytes(finding.bytes_per_step));
    }
  }
  finding.accounts_for = {{Counter::heap_bytes}, {Counter::python_objects}, {Counter::python_blocks}};
  if (mapped > 0) finding.accounts_for.push_back({Counter::mapped_bytes});
  if (are_blocks) {
    finding.count_per_step = growth.blocks.per_step;
    finding.counted = Counted::python_blocks;
    finding.since_step = growth.blocks.since_step;
    const auto blocks = growth_text(growth.blocks.per_step, growth.blocks.period, "small python block");
    finding.what =
        fmt::format("{} (strings, numbers) {} of {}", blocks.count, blocks.is_one ? "stays" : "stay", blocks.every);
  }
  // Python objects have no allocation stack here; the holder search names what grew, and else the native witness does.
  const auto& recording = evidence.recording;
  auto holder = holder_of_growth(recording, growth, heap, mapped, finding.since_step);
  const bool has_gained = holder >= 0 && share_gained(recording, holder, growth, heap + mapped) >= kBetterPart;
  const bool is_buffer = holder >= 0 && recording.holders.at(static_cast<std::size_t>(holder)).buffer_growth > 0;
  const bool is_of_few = few >= 0 && (!growth.is_leak || !(has_gained || is_buffer));
  if (is_of_few) holder = few;
  if (holder >= 0) {
    set_holder(recording, holder, finding);
    finding.has_gained = is_of_few || has_gained;
  }
  const bool is_of_sources = holder >= 0 && recording.holders.at(static_cast<std::size_t>(holder)).is_of_sources;
  if (!is_of_sources) finding.where = where_kept(finding.kept_by);
  if (finding.where.empty()) add_witness(recording, heap + mapped, finding);
  return {finding};
}

}  // namespace stepleak
