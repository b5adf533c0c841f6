// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "detectors/host_heap/host_heap_detector.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/analyse/host_growth.hpp"
#include "harness/analyse/suspects.hpp"
#include "harness/base/bytes.hpp"

namespace stepleak {

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
  // Python objects have no allocation stack here; the holder search names what grew.
  const auto& holders = evidence.recording.holders;
  const auto grown = std::find_if(holders.begin(), holders.end(), [](const Holder& h) { return h.container >= 0; });
  if (grown == holders.end()) return {finding};
  set_holder(evidence.recording, static_cast<int>(grown - holders.begin()), finding);
  const auto& kept = finding.kept_by;
  if (kept.line > 0) finding.where = {{kept.file, kept.line, "", kept.text, FrameOwner::user}};
  return {finding};
}

}  // namespace stepleak
