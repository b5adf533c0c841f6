// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "detectors/raw_cuda/raw_cuda_detector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "harness/analyse/device_growth.hpp"
#include "harness/analyse/gains.hpp"
#include "harness/analyse/host_growth.hpp"
#include "harness/analyse/suspects.hpp"
#include "harness/base/bytes.hpp"

namespace stepleak {
namespace {

std::string_view name_of(HandleType handle) {
  if (handle == HandleType::device_memory) return "raw allocation";
  return handle == HandleType::virtual_memory ? "virtual allocation" : to_string(handle);
}

// "1 stream of every step, 2 events of every step".
std::string objects_text(const Recording& recording, const std::vector<const Survivor*>& objects) {
  std::map<std::string_view, int> counts;
  for (const auto* object : objects) {
    ++counts[name_of(object->handle)];
  }
  std::string text;
  for (const auto& [name, count] : counts) {
    const auto per_step =
        static_cast<double>(count) / static_cast<double>(std::max<std::int64_t>(1, recording.proof_steps()));
    const auto growth = growth_text(per_step, 0, std::string(name));
    text += fmt::format("{}{} of {}", text.empty() ? "" : ", ", growth.count, growth.every);
  }
  return text;
}

// torch fills its pools of events and streams now and then; a leak adds to most steps.
bool is_in_most_steps(const Recording& recording, const std::vector<const Survivor*>& objects) {
  return 2 * steps_kept(objects) > recording.proof_steps();
}

// How many objects a step a container must have gained to be their holder; 0: none is looked for. A graph or a MemPool
// takes as many segments as it needs, of which a step counts once.
double objects_per_step(const Recording& recording, const DeviceGrowth& growth, const Finding& finding,
                        const std::vector<const Survivor*>& segments) {
  if (finding.counted != Counted::nothing) return finding.count_per_step;
  if (growth.is_keeping_objects()) return growth.objects.per_step;
  if (!growth.private_pool.is_growing()) return 0;
  return static_cast<double>(steps_kept(segments)) /
         static_cast<double>(std::max<std::int64_t>(1, recording.proof_steps()));
}

// The first container that gained the better part of so many objects a step.
void set_holder_of_objects(const Recording& recording, double per_step, Finding& finding) {
  for (int index = 0; index < static_cast<int>(recording.holders.size()); ++index) {
    const auto gained = static_cast<double>(gain_together(recording, index).cuda_objects);
    if (gained <= 0 || 2 * gained < per_step * static_cast<double>(recording.steps)) continue;
    set_holder(recording, index, finding);
    finding.has_gained = true;
    return;
  }
}

// The driver's, for each of them.
double heap_bytes_lost(const Trends& trends) {
  return std::max(0.0, trends.heap().is_growing() ? trends.heap().per_step : 0.0);
}

// What and how much of it; nothing where raw memory, pools and objects of a GPU do not grow.
std::optional<Finding> growth_found(const DeviceGrowth& growth) {
  Finding finding{.kind = Kind::raw_cuda, .device = growth.device};
  const double outside = growth.is_outside_growing() ? growth.outside.per_step : 0;
  if (growth.private_pool.is_growing() && !growth.live.is_growing() && !growth.waiting.is_growing()) {
    finding.bytes_per_step = growth.private_pool.per_step + outside;
    finding.since_step = growth.private_pool.since_step;
    finding.what = fmt::format("{} more stand in private pools (graphs, MemPools) every step, and no tensor uses them",
                               format_bytes(growth.private_pool.per_step));
    finding.accounts_for = {{Counter::private_pool_bytes, growth.device}, {Counter::reserved_bytes, growth.device}};
  } else if (growth.is_outside_growing()) {
    finding.bytes_per_step = outside;
    finding.since_step = growth.outside.since_step;
    finding.what = fmt::format("{} of device memory outside torch's caching allocator are taken every step",
                               format_bytes(outside));
  } else if (growth.is_keeping_objects()) {
    finding.count_per_step = growth.objects.per_step;
    finding.counted = Counted::cuda_objects;
    const auto objects = growth_text(growth.objects.per_step, growth.objects.period, "CUDA object");
    finding.what = fmt::format("never destroyed: {} of {}", objects.count, objects.every);
  } else {
    return std::nullopt;
  }
  if (growth.is_outside_growing()) finding.accounts_for.push_back({Counter::outside_bytes, growth.device});
  return finding;
}

// Before objects are counted a record pass may show that of most steps some are left, where the heap leaks as well.
std::optional<Finding> uncounted_growth(const Evidence& evidence, Device device,
                                        const std::vector<const Survivor*>& objects) {
  const auto host = host_growth_of(evidence.trace, evidence.trends);
  if (!host.is_leak || objects.empty() || !is_in_most_steps(evidence.recording, objects)) return std::nullopt;
  Finding finding{.kind = Kind::raw_cuda, .device = device};
  finding.count_per_step = static_cast<double>(objects.size()) / static_cast<double>(evidence.recording.proof_steps());
  finding.counted = Counted::cuda_objects;
  finding.since_step = host.heap.since_step;
  return finding;
}

// The driver keeps host memory for each object, and Python one for its wrapper.
void account_for_objects(Finding& finding) {
  finding.accounts_for.push_back({Counter::cuda_objects, finding.device});
  for (const auto counter : {Counter::heap_bytes, Counter::python_objects, Counter::python_blocks}) {
    finding.accounts_for.push_back({counter});
  }
}

}  // namespace

std::vector<Finding> RawCudaDetector::detect(const Evidence& evidence) const {
  const auto& recording = evidence.recording;
  std::vector<Finding> findings;
  for (const auto& growth : device_growths_of(evidence.trace, evidence.trends)) {
    const auto objects = old_cuda_objects(recording, growth.device);
    auto finding = growth_found(growth);
    if (!finding) finding = uncounted_growth(evidence, growth.device, objects);
    if (!finding) continue;
    const bool is_of_objects = finding->counted != Counted::nothing;
    if (const auto text = objects_text(recording, objects); !text.empty()) {
      finding->what =
          is_of_objects ? fmt::format("never destroyed: {}", text) : fmt::format("{} ({})", finding->what, text);
    }
    if (is_of_objects) {
      const auto raw = raw_bytes_kept(recording, growth.device);
      finding->bytes_per_step = raw > 0 ? raw : heap_bytes_lost(evidence.trends);
    }
    account_for_objects(*finding);
    const auto segments = handles_of(recording, growth.device, HandleType::private_segment);
    add_suspects(recording, objects.empty() ? segments : objects, *finding);
    const auto per_step = objects_per_step(recording, growth, *finding, segments);
    if (per_step > 0) set_holder_of_objects(recording, per_step, *finding);
    findings.push_back(*std::move(finding));
  }
  return findings;
}

}  // namespace stepleak
