// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/explain/memory_evidence.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "harness/trace/frames.hpp"

namespace stepleak {
namespace {

constexpr std::size_t kMostLines = 10;

void keep_first_lines(std::vector<LiveMemory>& lines) { lines.resize(std::min(lines.size(), kMostLines)); }

bool is_larger(const LiveMemory& a, const LiveMemory& b) {
  return std::tie(a.bytes, a.last_step) > std::tie(b.bytes, b.last_step);
}

bool is_newer(const LiveMemory& a, const LiveMemory& b) {
  return std::tie(a.last_step, a.bytes) > std::tie(b.last_step, b.bytes);
}

void add(const LiveMemory& block, LiveMemory& to) {
  to.bytes += block.bytes;
  to.blocks += block.blocks;
  to.first_step = std::min(to.first_step, block.first_step);
  to.last_step = std::max(to.last_step, block.last_step);
}

}  // namespace

MemoryEvidence memory_evidence_of(const Recording& recording, Device device) {
  std::vector<LiveMemory> blocks;
  std::map<std::string, LiveMemory> places;
  MemoryEvidence evidence;
  for (const auto& survivor : recording.survivors) {
    if (survivor.type != SurvivorType::block || survivor.device != device) continue;
    LiveMemory block{.bytes = survivor.bytes, .first_step = survivor.birth_step, .last_step = survivor.birth_step};
    if (survivor.stack >= 0) block.where = where_of(recording.stacks.at(static_cast<std::size_t>(survivor.stack)));
    evidence.bytes += block.bytes;
    ++evidence.blocks;
    if (!block.where.empty()) {
      const auto [place, is_new] = places.try_emplace(place_of(block.where), block);
      if (!is_new) add(block, place->second);
    }
    blocks.push_back(std::move(block));
  }
  evidence.newest = evidence.largest = std::move(blocks);
  for (auto& [place, memory] : places) evidence.by_stack.push_back(std::move(memory));
  std::sort(evidence.largest.begin(), evidence.largest.end(), is_larger);
  std::sort(evidence.newest.begin(), evidence.newest.end(), is_newer);
  std::sort(evidence.by_stack.begin(), evidence.by_stack.end(), is_larger);
  for (auto* lines : {&evidence.largest, &evidence.newest, &evidence.by_stack}) keep_first_lines(*lines);
  return evidence;
}

}  // namespace stepleak
