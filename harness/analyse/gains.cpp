// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/analyse/gains.hpp"

#include <algorithm>
#include <set>

namespace stepleak {
namespace {

// The container that a holder's container lies in; -1: in none.
int container_around(const ObjectGraph& objects, const Holder& holder) {
  for (const auto index : holder.path) {
    const auto& edge = objects.edges.at(static_cast<std::size_t>(index));
    if (edge.to != holder.container) continue;
    return objects.nodes.at(static_cast<std::size_t>(edge.from)).length >= 0 ? edge.from : -1;
  }
  return -1;
}

bool are_kin(const ObjectGraph& objects, const Holder& a, const Holder& b) {
  if (a.kept_by.is_at(b.kept_by)) return true;
  const auto around = container_around(objects, a);
  return around >= 0 && around == container_around(objects, b);
}

}  // namespace

bool is_of_growth(const Holder& holder) {
  return holder.container >= 0 || holder.gained_bytes > 0 || holder.gained_blocks > 0;
}

int grown_of(const Holder& holder) { return holder.container >= 0 ? holder.container : holder.held; }

double gained_rate(const Recording& recording, const Holder& holder) {
  const auto steps = holder.is_of_sources ? recording.recorded_steps() : recording.steps;
  return static_cast<double>(holder.gained_entries) / static_cast<double>(std::max<std::int64_t>(1, steps));
}

Gain gain_together(const Recording& recording, int index) {
  const auto& own = recording.holders.at(static_cast<std::size_t>(index));
  Gain gain;
  std::set<int> seen;
  const auto add = [&](const Holder& holder) {
    if (!seen.insert(grown_of(holder)).second) return;
    gain.bytes += holder.gained_bytes;
    gain.blocks += holder.gained_blocks;
    gain.cuda_objects += holder.gained_cuda_objects;
    gain.is_weighed = gain.is_weighed && holder.is_weighed;
  };
  add(own);
  for (const auto& holder : recording.holders) {
    if (own.container >= 0 && holder.container >= 0 && are_kin(recording.objects, own, holder)) add(holder);
  }
  return gain;
}

}  // namespace stepleak
