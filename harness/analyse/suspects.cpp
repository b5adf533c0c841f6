// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/analyse/suspects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "harness/analyse/gains.hpp"
#include "harness/trace/frames.hpp"
#include "harness/trace/holder_text.hpp"

namespace stepleak {

std::int64_t bound_of(const ObjectNode& container, const Structure& structure) {
  if (structure.type == StructureType::declared) return structure.bound;
  return container.bound > 0 ? container.bound : structure.type == StructureType::bounded ? structure.bound : -1;
}

namespace {

// Where suspects were made: of equal weight the first by its name wins, not by an address.
using Place = std::vector<std::tuple<std::string, std::string, int>>;

Place to_place(const std::vector<Frame>& where) {
  Place place;
  for (const auto& frame : telling_frames(where)) place.emplace_back(frame.file, frame.function, frame.line);
  return place;
}

Place place_of(const Recording& recording, const Survivor& survivor) {
  return to_place(where_of(recording.stacks.at(static_cast<std::size_t>(survivor.stack))));
}

bool is_in_container(const Recording& recording, const Survivor& survivor) {
  return recording.holders.at(static_cast<std::size_t>(survivor.holder)).container >= 0;
}

bool is_in_storage(const Survivor& survivor, Device device) {
  const bool has_storage = survivor.type == SurvivorType::tensor && survivor.storage != 0;
  return has_storage && survivor.device == device && !survivor.is_view_base;
}

// The attribute of an object that was there before: a table that is made anew for a longer sequence.
bool is_in_only_place(const Holder& holder) {
  const auto& structure = holder.structure;
  return holder.container < 0 && holder.graph < 0 && structure.type == StructureType::unknown && structure.bound == 1;
}

}  // namespace

bool is_replacement(const Recording& recording, const Survivor& survivor) {
  if (survivor.holder < 0) return false;
  const auto& holder = recording.holders.at(static_cast<std::size_t>(survivor.holder));
  if (is_in_only_place(holder)) return true;
  if (holder.container < 0 || holder.path.empty() || holder.gained_entries > 0 || holder.is_of_sources) return false;
  // What hangs on an entry may grow.
  const auto& last = recording.objects.edges.at(static_cast<std::size_t>(holder.path.back()));
  if (last.from != holder.container) return false;
  const auto& container = recording.objects.nodes.at(static_cast<std::size_t>(holder.container));
  const auto bound = bound_of(container, holder.structure);
  return bound > 0 && container.length >= bound;
}

std::vector<const Survivor*> survivors_where(const Recording& recording,
                                             const std::function<bool(const Survivor&)>& is_wanted) {
  std::vector<const Survivor*> wanted;
  for (const auto& survivor : recording.survivors) {
    if (is_wanted(survivor)) wanted.push_back(&survivor);
  }
  return wanted;
}

bool needs_storage(const Recording& recording, const Survivor& survivor, Device device) {
  return is_in_storage(survivor, device) && is_old(recording, survivor);
}

std::vector<const Survivor*> old_storages(const Recording& recording, Device device) {
  std::map<std::uint64_t, std::size_t> place_of_storage;
  std::vector<const Survivor*> storages;
  for (const auto& survivor : recording.survivors) {
    if (!needs_storage(recording, survivor, device)) continue;
    const auto [known, is_new] = place_of_storage.try_emplace(survivor.storage, storages.size());
    if (is_new) {
      storages.push_back(&survivor);
    } else {
      const auto* best = storages[known->second];
      const bool is_better =
          best->bytes == survivor.bytes && is_replacement(recording, *best) && !is_replacement(recording, survivor);
      if (best->bytes < survivor.bytes || is_better) storages[known->second] = &survivor;
    }
  }
  std::stable_sort(storages.begin(), storages.end(),
                   [](const Survivor* a, const Survivor* b) { return a->birth_step < b->birth_step; });
  return storages;
}

bool gains_what_is_renewed(const Recording& recording, const Survivor& survivor) {
  if (survivor.holder < 0 || is_old(recording, survivor)) return false;
  const auto& holder = recording.holders.at(static_cast<std::size_t>(survivor.holder));
  return holder.container >= 0 && !holder.is_of_sources && holder.gained_entries >= kFewestEntries &&
         has_no_known_end(holder.structure);
}

std::vector<const Survivor*> renewed_storages(const Recording& recording, Device device) {
  std::set<std::uint64_t> seen;
  return survivors_where(recording, [&](const Survivor& s) {
    return is_in_storage(s, device) && gains_what_is_renewed(recording, s) && seen.insert(s.storage).second;
  });
}

std::vector<const Survivor*> without_replacements(const Recording& recording, std::vector<const Survivor*> survivors) {
  // Holders are looked for of some alone: of what was made where all that are known took another's place, none counts.
  std::map<Place, bool> are_replacements;
  for (const auto* survivor : survivors) {
    if (survivor->holder < 0 || survivor->stack < 0 || !is_in_container(recording, *survivor)) continue;
    const auto known = are_replacements.try_emplace(place_of(recording, *survivor), true).first;
    known->second = known->second && is_replacement(recording, *survivor);
  }
  const auto is_own = [&](const Survivor* survivor) {
    if (survivor->holder >= 0) return !is_replacement(recording, *survivor);
    if (survivor->is_unreachable || survivor->stack < 0) return true;
    const auto known = are_replacements.find(place_of(recording, *survivor));
    return known == are_replacements.end() || !known->second;
  };
  const auto replacements = std::stable_partition(survivors.begin(), survivors.end(), is_own);
  if (replacements != survivors.begin()) survivors.erase(replacements, survivors.end());
  return survivors;
}

std::int64_t taken_bytes(const Survivor& survivor) {
  constexpr std::int64_t kSmallestBlock = 512;
  if (survivor.device.type != DeviceType::cuda) return survivor.storage_bytes;
  return (survivor.storage_bytes + kSmallestBlock - 1) / kSmallestBlock * kSmallestBlock;
}

std::vector<const Survivor*> handles_of(const Recording& recording, Device device, HandleType type) {
  return survivors_where(recording, [&](const Survivor& s) { return s.device == device && s.handle == type; });
}

std::vector<const Survivor*> segments_taken(const Recording& recording, Device device) {
  return survivors_where(recording, [&](const Survivor& s) {
    return s.device == device && (s.handle == HandleType::segment || s.handle == HandleType::first_segment);
  });
}

std::vector<const Survivor*> old_cuda_objects(const Recording& recording, Device device) {
  return survivors_where(recording, [&](const Survivor& s) {
    return s.type == SurvivorType::handle && s.device == device && !is_of_allocator(s.handle) && is_old(recording, s);
  });
}

double raw_bytes_kept(const Recording& recording, Device device) {
  std::vector<const Survivor*> memory;
  double bytes = 0;
  for (const auto* object : old_cuda_objects(recording, device)) {
    if (object->handle != HandleType::device_memory && object->handle != HandleType::virtual_memory) continue;
    memory.push_back(object);
    bytes += static_cast<double>(object->bytes);
  }
  const auto steps = recording.proof_steps();
  return 2 * steps_kept(memory) > steps ? bytes / static_cast<double>(steps) : 0;
}

std::vector<const Survivor*> old_blocks(const Recording& recording, Device device) {
  return survivors_where(recording, [&](const Survivor& s) {
    return s.type == SurvivorType::block && s.device == device && is_old(recording, s);
  });
}

std::vector<const Survivor*> old_nodes(const Recording& recording) {
  return survivors_where(recording,
                         [&](const Survivor& s) { return s.type == SurvivorType::node && is_old(recording, s); });
}

std::int64_t old_block_bytes(const Recording& recording, Device device) {
  std::int64_t bytes = 0;
  for (const auto* block : old_blocks(recording, device)) bytes += block->bytes;
  return bytes;
}

std::int64_t steps_kept(const std::vector<const Survivor*>& survivors) {
  std::set<std::int64_t> steps;
  for (const auto* survivor : survivors) steps.insert(survivor->birth_step);
  return static_cast<std::int64_t>(steps.size());
}

bool is_kept_for_ever(const Recording& recording, const Survivor& survivor) {
  if (survivor.holder < 0) return false;
  const auto& holder = recording.holders.at(static_cast<std::size_t>(survivor.holder));
  return never_ends(holder.structure) && holder.gained_entries >= kFewestEntries;
}

Trend recorded_trend(const Recording& recording, const std::vector<const Survivor*>& survivors) {
  const auto middle = recording.pass.first_step + recording.steps / 2;
  const auto early = std::count_if(survivors.begin(), survivors.end(),
                                   [&](const Survivor* survivor) { return survivor->birth_step < middle; });
  if (early == 0 || early == static_cast<std::ptrdiff_t>(survivors.size())) return {.state = TrendState::flat};
  return {.state = TrendState::growing,
          .per_step = static_cast<double>(survivors.size()) / static_cast<double>(recording.proof_steps()),
          .since_step = recording.pass.first_step};
}

namespace {

struct PlaceShare {
  std::vector<Frame> where;
  std::int64_t bytes = 0;
  const Survivor* example = nullptr;

  // A place that is the user's outweighs a library's, and that one none; then bytes, then counts.
  [[nodiscard]] double weight() const {
    const double whose = where.empty() ? 1e-6 : has_user_frame(where) ? 1.0 : 1e-3;
    return whose * static_cast<double>(bytes);
  }
};

// Where it was made is also made what something has in use for the moment, and a variable keeps one of them: the best.
bool is_told_better(const Recording& recording, const Survivor& survivor, const Survivor& known) {
  if (known.holder < 0 || survivor.holder < 0) return known.holder < 0 && survivor.holder >= 0;
  const auto rank = [&](const Survivor& s) {
    return std::pair(is_kept_for_ever(recording, s), is_in_container(recording, s));
  };
  return rank(survivor) > rank(known);
}

}  // namespace

void add_suspects(const Recording& recording, const std::vector<const Survivor*>& suspects, Finding& finding) {
  finding.explained_steps = recording.proof_steps();
  finding.kept_count = std::min(steps_kept(suspects), finding.explained_steps);
  std::map<Place, PlaceShare> places;
  for (const auto* suspect : suspects) {
    if (suspect->stack < 0) continue;
    auto where = where_of(recording.stacks.at(static_cast<std::size_t>(suspect->stack)));
    auto& share = places[to_place(where)];
    share.bytes += 1 + taken_bytes(*suspect);
    if (share.example != nullptr && !is_told_better(recording, *suspect, *share.example)) continue;
    share.where = std::move(where);
    share.example = suspect;
  }
  const auto rank = [&](const PlaceShare& share) {
    return std::pair(share.example != nullptr && is_kept_for_ever(recording, *share.example), share.weight());
  };
  const auto heaviest = std::max_element(places.begin(), places.end(),
                                         [&](const auto& a, const auto& b) { return rank(a.second) < rank(b.second); });
  const Survivor* example = heaviest == places.end() ? nullptr : heaviest->second.example;
  if (example != nullptr) {
    finding.where = heaviest->second.where;
    finding.op = example->op;
  }
  // The holder may be known for another of the suspects only, such as the newest sum of a chain.
  if (example == nullptr || example->holder < 0) {
    for (const auto* suspect : suspects) {
      if (suspect->holder >= 0) example = suspect;
    }
  }
  if (example == nullptr || example->holder < 0) return;
  set_holder(recording, example->holder, finding);
}

const Survivor* example_of(const std::vector<const Survivor*>& suspects, const Finding& finding) {
  // Not the last in the list: its place there is that of its allocation in the step.
  const auto rank = [&](const Survivor* s) {
    const bool is_of_holder = finding.holder_index >= 0 && s->holder == finding.holder_index;
    return std::tuple(is_of_holder, s->birth_step, s->storage_bytes, s->bytes, std::string_view(s->name));
  };
  const auto example = std::max_element(suspects.begin(), suspects.end(),
                                        [&](const Survivor* a, const Survivor* b) { return rank(a) < rank(b); });
  return example == suspects.end() ? nullptr : *example;
}

void set_holder(const Recording& recording, int index, Finding& finding) {
  const auto& holder = recording.holders.at(static_cast<std::size_t>(index));
  finding.holder_index = index;
  finding.holder = path_text(recording.objects, holder);
  finding.holder_shape = shape_text(recording.objects, holder);
  finding.holder_path = path_parts(recording.objects, holder);
  finding.kept_by = holder.kept_by;
  finding.structure = holder.structure;
}

const Holder* holder_of(const Finding& finding, const Recording& recording) {
  return finding.holder_index < 0 ? nullptr : &recording.holders.at(static_cast<std::size_t>(finding.holder_index));
}

std::vector<Frame> where_kept(const Statement& kept_by) {
  if (kept_by.line == 0) return {};
  return {{kept_by.file, kept_by.line, "", kept_by.text, FrameOwner::user}};
}

std::int64_t gap_between_kept(const Finding& finding) {
  const bool is_known = finding.kept_count >= kFewestEntries && 2 * finding.kept_count <= finding.explained_steps;
  return is_known ? std::llround(static_cast<double>(finding.explained_steps) / static_cast<double>(finding.kept_count))
                  : 1;
}

GrowthText growth_text(double per_step, std::int64_t period, const std::string& noun, std::int64_t gap) {
  static constexpr double kRounding = 0.005;
  const auto is_whole = [](double value) {
    return std::round(value) >= 1 && std::abs(value - std::round(value)) < kRounding * value;
  };
  const auto text = [&](double count, double steps, const char* roughly) {
    const auto number = is_whole(count) ? fmt::format("{:.0f}", count) : fmt::format("{:.2f}", count);
    const bool is_one = number == "1";
    auto every = std::round(steps) == 1 ? std::string("every step") : fmt::format("every {:.0f} steps", steps);
    return GrowthText{fmt::format("{} {}{}", number, noun, is_one ? "" : "s"), every + roughly, is_one};
  };
  const auto steps = static_cast<double>(period);
  // Eight every eight steps are not one every step.
  if (period > 1 && is_whole(per_step * steps)) return text(per_step * steps, steps, "");
  // Nor are nine nodes every 25 steps one every three.
  const auto apart = static_cast<double>(gap);
  if (gap > 1 && per_step * apart >= 1) {
    return text(per_step * apart, apart, is_whole(per_step * apart) ? "" : " or so");
  }
  if (is_whole(per_step)) return text(per_step, 1, "");
  if (per_step >= 1 || per_step <= 0) return text(per_step, 1, " on average");
  return text(1, 1 / per_step, is_whole(1 / per_step) ? "" : " or so");
}

}  // namespace stepleak
