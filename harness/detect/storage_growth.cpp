// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/detect/storage_growth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/base/bytes.hpp"
#include "harness/detect/device_growth.hpp"
#include "harness/detect/evidence.hpp"

namespace stepleak {
namespace {

// A view that needs this part of its storage or less: copying it would save as much as it costs.
constexpr std::int64_t kPinnedFactor = 2;

std::int64_t storage_bytes(const std::vector<const Survivor*>& survivors) {
  std::int64_t bytes = 0;
  for (const auto* survivor : survivors) bytes += survivor->storage_bytes;
  return bytes;
}

void group_survivors(const Trace& trace, StorageGrowth& growth) {
  std::set<std::uint64_t> used;
  for (const auto* tensor : old_storages(trace, growth.device)) {
    used.insert(tensor->storage);
    if (tensor->is_unreachable || tensor->is_in_cycle) growth.unreachable.push_back(tensor);
    if (tensor->bytes * kPinnedFactor <= tensor->storage_bytes) {
      growth.views.push_back(tensor);
    } else if (tensor->is_computed) {
      growth.computed.push_back(tensor);
    } else {
      growth.fresh.push_back(tensor);
    }
  }
  growth.unknown = survivors_where(trace, [&](const Survivor& s) {
    return s.type == SurvivorType::block && s.device == growth.device && is_old(trace, s) && !used.contains(s.storage);
  });
  for (const auto* block : growth.unknown) {
    if (block->is_unreachable) growth.unreachable.push_back(block);
  }
}

StorageGrowth::Cause cause_of(const Trace& trace, const StorageGrowth& growth) {
  using Cause = StorageGrowth::Cause;
  if (growth.bytes.is_growing() && !growth.blocks.is_growing()) return Cause::buffer;
  if (2 * storage_bytes(growth.unreachable) > old_block_bytes(trace, growth.device) && !growth.unreachable.empty()) {
    return Cause::unreachable;
  }
  const std::pair<std::int64_t, Cause> shares[] = {{storage_bytes(growth.unknown), Cause::unknown},
                                                   {storage_bytes(growth.views), Cause::views},
                                                   {storage_bytes(growth.computed), Cause::computed},
                                                   {storage_bytes(growth.fresh), Cause::fresh}};
  return std::max_element(std::begin(shares), std::end(shares),
                          [](const auto& a, const auto& b) { return a.first < b.first; })
      ->second;
}

}  // namespace

std::vector<StorageGrowth> storage_growths_of(const Trace& trace) {
  std::vector<StorageGrowth> growths;
  const auto devices = trace.devices();
  const bool have_bytes = std::any_of(devices.begin(), devices.end(), [&](const Device& device) {
    return exact_trend(trace, {Counter::live_bytes, device}).is_growing();
  });
  // Tensors that bypass the caching allocator have memory, too.
  const auto gpus = device_growths_of(trace);
  const bool have_outside =
      std::any_of(gpus.begin(), gpus.end(), [](const auto& gpu) { return gpu.outside.is_growing(); });
  for (const auto& device : devices) {
    StorageGrowth growth{.device = device,
                         .bytes = exact_trend(trace, {Counter::live_bytes, device}),
                         .blocks = exact_trend(trace, {Counter::live_blocks, device})};
    // Tensors without memory of their own on any device: views, and what is empty.
    const bool is_shell_growth =
        !have_bytes && !have_outside && device == kHost && exact_trend(trace, {Counter::live_tensors}).is_growing();
    if (!growth.bytes.is_growing() && !is_shell_growth) continue;
    group_survivors(trace, growth);
    growth.cause = cause_of(trace, growth);
    growths.push_back(std::move(growth));
  }
  std::stable_sort(growths.begin(), growths.end(),
                   [](const StorageGrowth& a, const StorageGrowth& b) { return a.bytes.per_step > b.bytes.per_step; });
  return growths;
}

Finding storage_finding(const Trace& trace, const StorageGrowth& growth, Kind kind,
                        const std::vector<const Survivor*>& suspects) {
  Finding finding{.kind = kind, .device = growth.device};
  finding.bytes_per_step = std::max(0.0, growth.bytes.per_step);
  finding.count_per_step = std::max(0.0, growth.blocks.per_step);
  finding.counted = "blocks";
  finding.since_step = growth.bytes.since_step;
  std::string what = count_text(finding.count_per_step, "block");
  if (!suspects.empty() && suspects.back()->type == SurvivorType::tensor) {
    const auto& example = *suspects.back();
    what += fmt::format(" of a tensor ({}, {}-dim, {} of {})", example.name, example.dims,
                        format_bytes(static_cast<double>(example.bytes)),
                        format_bytes(static_cast<double>(example.storage_bytes)));
  }
  finding.what = fmt::format("{} stays of every step since step {}", what, finding.since_step);
  add_suspects(trace, suspects, finding);
  // What a backward pass on a GPU makes has no frame of the user's; what was allocated beside it may.
  if (finding.where.empty()) add_suspects(trace, old_blocks(trace, growth.device), finding);
  finding.accounts_for = {
      {Counter::live_bytes, growth.device}, {Counter::live_tensors}, {Counter::heap_bytes}, {Counter::python_objects}};
  return finding;
}

}  // namespace stepleak
