// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "detectors/host_heap/host_heap_detector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

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

// Where the memory was allocated, if what was recorded is the better part of it: less may be there beside the leak.
void add_witness(const Recording& recording, double bytes_per_step, Finding& finding) {
  const auto kept = steady_allocations(recording);
  double bytes = 0;
  for (const auto* allocation : kept) bytes += static_cast<double>(allocation->bytes);
  if (2 * bytes < bytes_per_step * static_cast<double>(recording.proof_steps())) return;
  add_suspects(recording, kept, finding);
}

}  // namespace

std::vector<Finding> HostHeapDetector::detect(const Evidence& evidence) const {
  const auto growth = host_growth_of(evidence.trace, evidence.trends);
  if (!growth.is_leak) return {};
  Finding finding{.kind = kind()};
  finding.bytes_per_step = std::max(0.0, growth.heap.per_step);
  finding.what = fmt::format("{} of host heap outside tensors stay of every step", format_bytes(growth.heap.per_step));
  finding.since_step = growth.heap.since_step;
  if (growth.objects.is_growing()) {
    finding.count_per_step = growth.objects.per_step;
    finding.counted = "python objects";
    finding.since_step = growth.objects.since_step;
    const auto objects = growth_text(growth.objects.per_step, growth.objects.period, "python object");
    finding.what = fmt::format("{} {} of {}, {} of host heap a step", objects.count, objects.is_one ? "stays" : "stay",
                               objects.every, format_bytes(finding.bytes_per_step));
  }
  finding.accounts_for = {{Counter::heap_bytes}, {Counter::python_objects}, {Counter::python_blocks}};
  if (!growth.objects.is_growing() && !growth.heap.is_growing() && growth.blocks.is_growing()) {
    finding.count_per_step = growth.blocks.per_step;
    finding.counted = "python blocks";
    finding.since_step = growth.blocks.since_step;
    const auto blocks = growth_text(growth.blocks.per_step, growth.blocks.period, "small python block");
    finding.what =
        fmt::format("{} (strings, numbers) {} of {}", blocks.count, blocks.is_one ? "stays" : "stay", blocks.every);
  }
  // Python objects have no allocation stack here; the holder search names what grew, and else the native witness does.
  const auto& holders = evidence.recording.holders;
  const auto grown = std::find_if(holders.begin(), holders.end(), [](const Holder& h) { return h.container >= 0; });
  if (grown != holders.end()) set_holder(evidence.recording, static_cast<int>(grown - holders.begin()), finding);
  const auto& kept = finding.kept_by;
  if (kept.line > 0) {
    finding.where = {{kept.file, kept.line, "", kept.text, FrameOwner::user}};
  } else {
    add_witness(evidence.recording, growth.heap.per_step, finding);
  }
  return {finding};
}

}  // namespace stepleak
