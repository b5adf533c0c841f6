// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/trace/holder_group.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "harness/trace/holder_text.hpp"
#include "harness/trace/largest_groups.hpp"
#include "harness/trace/recording.hpp"

namespace stepleak {
namespace {

// Where a tensor's memory was taken in the recorded steps it is a block, too; page-locked memory is none.
class Memory {
 public:
  explicit Memory(const Recording& recording) {
    for (const auto& survivor : recording.survivors) {
      if (survivor.type == SurvivorType::block) blocks_.insert(survivor.identity);
    }
  }

  /// What is not counted yet of what a survivor takes.
  std::int64_t take(const Survivor& survivor) {
    switch (survivor.type) {
      case SurvivorType::node:
        return 0;
      case SurvivorType::handle:
      case SurvivorType::heap:
        return survivor.bytes;
      case SurvivorType::block:
        return counted_.insert(survivor.identity).second ? survivor.bytes : 0;
      case SurvivorType::tensor:
        break;
    }
    const bool is_new = survivor.is_pinned || blocks_.contains(survivor.storage);
    return is_new && counted_.insert(survivor.storage).second ? survivor.storage_bytes : 0;
  }

 private:
  std::set<std::uint64_t> blocks_;
  std::set<std::uint64_t> counted_;
};

bool is_told(const Recording& recording, const Survivor& survivor) {
  if (!is_old(recording, survivor)) return false;
  return survivor.holder >= 0 || (survivor.type != SurvivorType::node && survivor.type != SurvivorType::heap);
}

// What is known to be held first, so that memory which something unknown shares is its holder's; and blocks after the
// tensors that are in them.
std::vector<const Survivor*> in_order(const Recording& recording) {
  std::vector<const Survivor*> survivors;
  for (const auto& survivor : recording.survivors) {
    if (is_told(recording, survivor)) survivors.push_back(&survivor);
  }
  std::ranges::stable_sort(survivors, {}, [](const Survivor* survivor) {
    return std::pair(survivor->type == SurvivorType::block, survivor->holder < 0);
  });
  return survivors;
}

}  // namespace

std::vector<HolderGroup> holder_groups(const Recording& recording) {
  std::map<std::vector<HolderPart>, HolderGroup> by_path;
  std::vector<std::vector<HolderPart>> paths;
  std::vector<bool> has_survivors(recording.holders.size());
  for (const auto& holder : recording.holders) paths.push_back(shape_parts(recording.objects, holder));
  Memory memory(recording);
  for (const auto* survivor : in_order(recording)) {
    const auto bytes = memory.take(*survivor);
    if (survivor->type == SurvivorType::block && bytes == 0) continue;
    const auto index = static_cast<std::size_t>(survivor->holder);
    const bool is_held = survivor->holder >= 0;
    auto& group = by_path[is_held ? paths.at(index) : std::vector<HolderPart>()];
    if (is_held) has_survivors.at(index) = true;
    ++group.count;
    group.bytes += bytes;
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto& holder = recording.holders[i];
    if (has_survivors[i] || holder.gained_entries <= 0) continue;
    auto& group = by_path[paths[i]];
    group.count += holder.gained_entries;
    group.bytes += holder.gained_bytes + holder.gained_block_bytes;
  }
  std::vector<HolderGroup> groups;
  for (auto& [path, group] : by_path) {
    group.path = path;
    groups.push_back(std::move(group));
  }
  return largest_groups(std::move(groups), kMostGroups);
}

}  // namespace stepleak
