// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "detectors/raw_cuda/raw_cuda_detector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness/analyse/device_growth.hpp"
#include "harness/analyse/host_growth.hpp"
#include "harness/analyse/suspects.hpp"
#include "harness/base/bytes.hpp"

namespace stepleak {
namespace {

// CUDA objects made in the record pass and not destroyed, whatever kept them.
std::vector<const Survivor*> old_objects(const Recording& recording) {
  return survivors_where(recording, [&](const Survivor& s) {
    static const std::set<std::string, std::less<>> kOfTorch{"pinned memory", "segment", "private segment",
                                                             "waiting block"};
    return s.type == SurvivorType::handle && !kOfTorch.contains(s.name) && is_old(recording, s);
  });
}

// "1 stream of every step, 2 events of every step".
std::string objects_text(const Recording& recording, const std::vector<const Survivor*>& objects) {
  std::map<std::string, int> counts;
  for (const auto* object : objects) ++counts[object->name == "device memory" ? "raw allocation" : object->name];
  std::string text;
  for (const auto& [name, count] : counts) {
    const auto per_step =
        static_cast<double>(count) / static_cast<double>(std::max<std::int64_t>(1, recording.proof_steps()));
    const auto growth = growth_text(per_step, 0, name);
    text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", growth.count, growth.every);
  }
  return text;
}

// torch fills its pools of events and streams now and then; a leak adds to most steps.
bool is_in_most_steps(const Recording& recording, const std::vector<const Survivor*>& objects) {
  return 2 * steps_kept(objects) > recording.proof_steps();
}

}  // namespace

std::vector<Finding> RawCudaDetector::detect(const Evidence& evidence) const {
  const auto objects = old_objects(evidence.recording);
  const auto text = objects_text(evidence.recording, objects);
  const auto growths = device_growths_of(evidence.trends);
  std::vector<Finding> findings;
  for (const auto& growth : growths) {
    Finding finding{.kind = kind(), .device = growth.device};
    const double outside = growth.outside.is_growing() ? growth.outside.per_step : 0;
    if (growth.private_pool.is_growing() && !growth.live.is_growing() && !growth.waiting.is_growing()) {
      finding.bytes_per_step = growth.private_pool.per_step + outside;
      finding.since_step = growth.private_pool.since_step;
      finding.what =
          fmt::format("{} more stand in private pools (graphs, MemPools) every step, and no tensor uses them",
                      format_bytes(growth.private_pool.per_step));
      finding.accounts_for = {{Counter::private_pool_bytes, growth.device}, {Counter::reserved_bytes, growth.device}};
    } else if (growth.outside.is_growing()) {
      finding.bytes_per_step = outside;
      finding.since_step = growth.outside.since_step;
      finding.what = fmt::format("{} of device memory outside torch's caching allocator are taken every step",
                                 format_bytes(outside));
    } else {
      continue;
    }
    if (growth.outside.is_growing()) finding.accounts_for.push_back({Counter::outside_bytes, growth.device});
    if (!text.empty()) finding.what += fmt::format(" ({})", text);
    finding.accounts_for.push_back({Counter::heap_bytes});
    finding.accounts_for.push_back({Counter::python_objects});
    finding.accounts_for.push_back({Counter::python_blocks});
    add_suspects(evidence.recording, objects.empty() ? handles_named(evidence.recording, "private segment") : objects,
                 finding);
    findings.push_back(std::move(finding));
  }
  // Streams and events take host memory only: the driver's.
  if (!findings.empty() || growths.empty() || objects.empty() || !is_in_most_steps(evidence.recording, objects))
    return findings;
  if (const auto host = host_growth_of(evidence.trace, evidence.trends); host.is_leak) {
    Finding finding{.kind = kind(), .device = growths.front().device};
    finding.bytes_per_step = std::max(0.0, host.heap.per_step);
    finding.count_per_step =
        static_cast<double>(objects.size()) / static_cast<double>(evidence.recording.proof_steps());
    finding.counted = "cuda objects";
    finding.since_step = host.heap.since_step;
    finding.what = fmt::format("never destroyed: {}", text);
    finding.accounts_for = {{Counter::heap_bytes}, {Counter::python_objects}, {Counter::python_blocks}};
    add_suspects(evidence.recording, objects, finding);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace stepleak
