// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/analyse/ages.hpp"

#include <algorithm>

#include "harness/analyse/trends.hpp"

namespace stepleak {
namespace {

const CohortTable* table_of(const Look& look, Device device) {
  const auto table = std::find_if(look.cohorts.begin(), look.cohorts.end(),
                                  [&](const CohortTable& table) { return table.device == device; });
  return table == look.cohorts.end() ? nullptr : &*table;
}

// Of those that were born in these steps.
std::int64_t blocks_born(const CohortTable& table, StepRange births) {
  std::int64_t blocks = 0;
  for (const auto& cohort : table.cohorts) {
    if (births.first <= cohort.birth_step && cohort.birth_step <= births.last) blocks += cohort.blocks;
  }
  return blocks;
}

StepRange second_quarter(StepRange steps) {
  return {steps.first + steps.count() / 4, steps.first + steps.count() / 2 - 1};
}

// Whether the sources of what was recorded clear something in steps.
bool is_to_be_cleared(const Trace& trace) {
  const auto& recordings = trace.recordings();
  return std::any_of(recordings.begin(), recordings.end(), [](const Recording& recording) {
    return std::any_of(recording.holders.begin(), recording.holders.end(),
                       [](const Holder& holder) { return holder.structure.type == StructureType::reset; });
  });
}

struct OldBlocks {
  std::int64_t were_alive = 0;
  std::int64_t are_alive = 0;
};

// Of the blocks at an earlier look, half as far: how many there were, and how many of them live now.
OldBlocks old_blocks_of(const Trace& trace, Device device, StepRange judged) {
  const auto* now = trace.cohorts_of(device);
  const auto half = judged.first + judged.count() / 2 - 1;
  const Look* earlier = nullptr;
  for (const auto& look : trace.looks()) {
    if (judged.first <= look.step && look.step <= half) earlier = &look;
  }
  if (now == nullptr || earlier == nullptr) return {};
  const auto* then = table_of(*earlier, device);
  if (then == nullptr) return {};
  // Neither what was made once, nor what is young even for what is replaced soon.
  const auto steps = earlier->step - judged.first + 1;
  const StepRange births{judged.first + steps / 8, judged.first + steps * 3 / 4 - 1};
  return {blocks_born(*then, births), blocks_born(*now, births)};
}

}  // namespace

std::int64_t blocks_alive_of(const Trace& trace, Device device, StepRange births) {
  const auto* table = trace.cohorts_of(device);
  return table == nullptr ? -1 : blocks_born(*table, births);
}

std::int64_t middle_aged_blocks(const Trace& trace, Device device, StepRange judged) {
  return blocks_alive_of(trace, device, second_quarter(judged));
}

std::int64_t set_up_blocks_freed(const Trace& trace, Device device) {
  const StepRange steps{1, trace.step_count()};
  const auto born = blocks_alive_of(trace, device, {2, steps.last});
  const auto values = values_of(trace, {Counter::live_blocks, device}, steps);
  return born < 0 || values.empty() ? -1 : born - (values.back() - values.front());
}

bool are_old_dying(const Trace& trace, Device device, StepRange judged) {
  constexpr std::int64_t kFewest = 4;
  const auto old = old_blocks_of(trace, device, judged);
  return old.were_alive >= kFewest && 3 * old.are_alive < 2 * old.were_alive;
}

bool is_any_old_dying(const Trace& trace, Device device, StepRange judged) {
  const auto old = old_blocks_of(trace, device, judged);
  return old.are_alive < old.were_alive;
}

std::vector<std::int64_t> clearings_of(const Trace& trace, Device device, StepRange judged) {
  constexpr std::int64_t kFewest = 8;
  const auto blocks = values_of(trace, {Counter::live_blocks, device}, judged);
  std::vector<std::int64_t> clearings;
  for (std::size_t i = 1, lowest = 0; i < blocks.size(); ++i) {
    const auto collected = blocks[i - 1] - blocks[lowest];
    if (collected >= kFewest && 2 * (blocks[i - 1] - blocks[i]) >= collected) {
      clearings.push_back(judged.first + static_cast<std::int64_t>(i));
      lowest = i;
    }
    if (blocks[i] < blocks[lowest]) lowest = i;
  }
  return clearings;
}

std::int64_t drops_like_a_clearing(const Trace& trace, Device device, StepRange judged) {
  const auto clearings = clearings_of(trace, device, judged);
  if (clearings.empty()) return 0;
  const auto blocks = values_of(trace, {Counter::live_blocks, device}, judged);
  const auto drop_at = [&](std::size_t i) { return blocks[i - 1] - blocks[i]; };
  const auto first = static_cast<std::size_t>(clearings.front() - judged.first);
  std::int64_t drops = 0;
  for (auto i = first; i < blocks.size(); ++i) drops += 2 * drop_at(i) >= drop_at(first) ? 1 : 0;
  return drops;
}

bool has_remainder(const Trace& trace, Device device, StepRange judged) {
  const auto clearings = clearings_of(trace, device, judged);
  const auto* table = trace.cohorts_of(device);
  if (clearings.size() < 2 || table == nullptr) return false;
  const auto last = clearings[clearings.size() - 1];
  const auto before = clearings[clearings.size() - 2];
  // Where as many others have died, as in a cache of the latest, nothing is left over.
  const auto blocks = values_of(trace, {Counter::live_blocks, device}, judged);
  const auto level_after = [&](std::int64_t step) { return blocks[static_cast<std::size_t>(step - judged.first)]; };
  if (level_after(last) <= level_after(before) || blocks_born(*table, {before, last - 1}) == 0) return false;
  // Before the first clearing the warm-up makes what stays, too: that the third clears it will show.
  return clearings.size() == 2 || blocks_born(*table, {clearings[clearings.size() - 3], before - 1}) > 0;
}

bool may_have_remainder(const Trace& trace, Device device, StepRange judged) {
  const auto clearings = clearings_of(trace, device, judged);
  const auto* table = trace.cohorts_of(device);
  return clearings.size() == 1 && table != nullptr && blocks_born(*table, {judged.first, clearings.front()}) > 0;
}

bool is_gathering_again(const Trace& trace, Device device, StepRange judged) {
  const auto clearings = clearings_of(trace, device, judged);
  if (clearings.size() != 1 || is_to_be_cleared(trace)) return false;
  const auto blocks = values_of(trace, {Counter::live_blocks, device}, judged);
  const auto cleared = blocks.begin() + (clearings.front() - judged.first);
  const auto lowest = std::min_element(blocks.begin(), cleared);
  const auto before = (*(cleared - 1) - *lowest) * (blocks.end() - 1 - cleared);
  const auto since = (blocks.back() - *cleared) * (cleared - lowest);
  return 2 * since >= before;
}

bool is_growth_of_all_ages(const Trace& trace, Device device, StepRange judged) {
  const auto* table = trace.cohorts_of(device);
  if (table == nullptr) return false;
  const auto quarter = judged.count() / 4;
  const StepRange middle{judged.first + quarter, judged.last - quarter};
  const auto values = values_of(trace, {Counter::live_bytes, device}, middle);
  if (values.empty()) return false;
  std::int64_t kept = 0;
  for (const auto& cohort : table->cohorts) {
    if (middle.first < cohort.birth_step && cohort.birth_step <= middle.last) kept += cohort.bytes;
  }
  return 2 * kept > values.back() - values.front();
}

}  // namespace stepleak
