// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/analyse/own_work.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/analyse/trend.hpp"

namespace stepleak {
namespace {

// What the ledger rises by over so many steps as a rule, by three such stretches before its last reading, or by the one
// before it where there are no more: what rises rarely may have risen in that one.
std::int64_t usual_rise(const Ledger& ledger, std::int64_t stretch, std::int64_t gap) {
  const auto& steps = ledger.steps();
  const auto& values = ledger.values();
  std::array<std::int64_t, 3> rises{};
  auto at = steps.size() - 1;
  for (std::size_t i = 0; i < rises.size(); ++i) {
    auto before = at;
    while (before > 0 && steps[at] - steps[before] < stretch) --before;
    const auto known = steps[at] - steps[before];
    if (i > 0 && known < stretch) return rises.front();
    rises[i] = known == 0 ? 0 : (values[at] - values[before]) * gap / known;
    at = before;
  }
  std::nth_element(rises.begin(), rises.begin() + 1, rises.end());
  return rises[1];
}

// The same over a gap in which it changed by `change`, the harness's own work included. That leaves something, as a
// rule: what rose by more than it all before is no rule, but happened once, as a library's first use, and shorter
// stretches tell more.
std::int64_t usual_rise_over(const Ledger& ledger, std::int64_t gap, std::int64_t change) {
  auto usual = usual_rise(ledger, gap, gap);
  if (change < 0) return usual;
  for (auto stretch = gap / 2; usual > change && stretch > 0; stretch /= 2) usual = usual_rise(ledger, stretch, gap);
  return std::min(usual, change);
}

}  // namespace

std::vector<std::int64_t> own_work_of(const Trace& trace) {
  std::vector<std::int64_t> steps;
  for (const auto& pass : trace.passes()) {
    if (pass.type == PassType::record) steps.push_back(pass.first_step);
  }
  for (const auto& ledger : trace.ledgers()) {
    const bool is_begun = ledger.key().counter == Counter::cuda_objects && !ledger.steps().empty();
    if (is_begun) steps.push_back(ledger.steps().front());
  }
  return steps;
}

Ledger without_own_work(const Ledger& ledger, const std::vector<std::int64_t>& own_steps) {
  const auto& steps = ledger.steps();
  const auto& values = ledger.values();
  Ledger rest{ledger.key()};
  std::int64_t own = 0;
  std::int64_t deepest_fall = 0;
  std::int64_t lowest = values.empty() ? 0 : values.front();
  double usual_rate = 0;
  bool is_settling = false;
  bool was_own = false;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto change = i == 0 ? 0 : values[i] - values[i - 1];
    const bool is_over_own = i > 0 && std::any_of(own_steps.begin(), own_steps.end(), [&](std::int64_t step) {
                               return step > steps[i - 1] && step <= steps[i];
                             });
    const auto risen = i == 0 ? 0 : values[i - 1] - own - lowest;
    const bool is_clearing = change < 0 && -2 * change >= risen && -4 * change <= 5 * risen;
    const bool is_known_fall = change < 0 && -change <= 2 * deepest_fall;
    if (is_over_own && !is_known_fall && !is_clearing &&
        !is_next_stair(rest.held(steps.front(), steps[i - 1]), change)) {
      const auto gap = steps[i] - steps[i - 1];
      const auto usual = usual_rise_over(rest, gap, change);
      for (std::int64_t passed = 1; passed < gap && ledger.key().counter == Counter::python_blocks; ++passed) {
        rest.add(steps[i - 1] + passed, values[i - 1] - own + usual * passed / gap);
      }
      own += change - usual;
      usual_rate = static_cast<double>(usual) / static_cast<double>(gap);
      is_settling = true;
    } else if (is_settling && change < 0 && -change <= own && !is_known_fall && !(was_own && is_clearing)) {
      own += change - std::llround(usual_rate * static_cast<double>(steps[i] - steps[i - 1]));
    } else {
      deepest_fall = std::max(deepest_fall, -change);
      is_settling = false;
    }
    was_own = is_over_own;
    rest.add(steps[i], values[i] - own);
    lowest = std::min(lowest, values[i] - own);
  }
  return rest;
}

bool has_rested_since(const std::vector<std::int64_t>& own_steps, const Ledger& ledger, StepRange judged,
                      double floor) {
  std::int64_t own = 0;
  for (const auto step : own_steps) own = step <= judged.last ? std::max(own, step) : own;
  const auto& steps = ledger.steps();
  const auto first = std::lower_bound(steps.begin(), steps.end(), own) - steps.begin();
  const auto end = std::upper_bound(steps.begin(), steps.end(), judged.last) - steps.begin();
  if (own < judged.first || first >= end) return false;
  const auto values = ledger.values().begin();
  const auto count = judged.last - steps[static_cast<std::size_t>(first)];
  const auto rise = *std::max_element(values + first, values + end) - values[first];
  return 2 * count >= judged.count() && static_cast<double>(rise) <= floor * static_cast<double>(count);
}

}  // namespace stepleak
