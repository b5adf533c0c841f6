// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/analyse/decision.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/analyse/device_growth.hpp"
#include "harness/analyse/host_growth.hpp"

namespace stepleak {
namespace {

struct LedgerTrend {
  std::string name;
  Trend trend;
};

// Blocks born in the second quarter of the judged steps that still live. What a container of fewer than half of them
// replaces is younger, and what was made once is older.
std::int64_t middle_aged_blocks(const Trace& trace, Device device, StepRange judged) {
  const auto* table = trace.cohorts_of(device);
  if (table == nullptr) return -1;
  std::int64_t blocks = 0;
  for (const auto& cohort : table->cohorts) {
    const auto age = cohort.birth_step - judged.first + 1;
    if (age > judged.count() / 4 && age <= judged.count() / 2) blocks += cohort.blocks;
  }
  return blocks;
}

// The cohorts are the second witness of live bytes. Where all of the middle have died, what moves the ledger
// is young: sizes that vary, or one buffer that is reborn (its block count is flat and its bytes rise).
Trend witnessed(const Trace& trace, const SeriesKey& key, const Trends& trends) {
  auto trend = trends.of(key);
  if (trend.state != TrendState::undecided) return trend;
  // Tensors and nodes may hold blocks of any device.
  const auto devices = key.counter == Counter::live_bytes ? std::vector{key.device} : trace.devices();
  const bool are_all_young = std::all_of(devices.begin(), devices.end(), [&](const Device& device) {
    return middle_aged_blocks(trace, device, trends.judged()) == 0;
  });
  if (are_all_young && !has_upward_trend(values_of(trace, key, trends.judged()))) trend.state = TrendState::flat;
  return trend;
}

std::vector<LedgerTrend> exact_trends(const Trace& trace, const Trends& trends) {
  std::vector<LedgerTrend> exact;
  for (const auto& ledger : trace.ledgers()) {
    const auto& key = ledger.key();
    if (key.moment == Moment::before_collection) continue;
    if (key.counter != Counter::live_bytes && key.counter != Counter::live_nodes &&
        key.counter != Counter::live_tensors) {
      continue;
    }
    exact.push_back({to_string(key), witnessed(trace, key, trends)});
  }
  if (trace.facts().has_python && !trace.is_collector_enabled()) {
    for (const auto& device : trace.devices()) {
      if (!trace.has({Counter::live_bytes, device, Moment::before_collection})) continue;
      exact.push_back({fmt::format("uncollected bytes on {}", to_string(device)), trends.collected(device)});
    }
  }
  return exact;
}

// What beside the exact ledgers has not settled.
std::string_view unsettled_of(const Trace& trace, bool are_devices_settled) {
  if (!are_devices_settled) return "reserved, pinned or driver memory still moves";
  if (trace.has({Counter::heap_bytes})) return "the host heap still moves";
  return "RSS or Python objects still grow, and the host heap is not seen";
}

Limit limit_of(const std::vector<LedgerTrend>& trends) {
  Limit limit;
  for (const auto& [name, trend] : trends) {
    if (trend.window > 0) limit.period_steps = std::max(limit.period_steps, trend.window);
  }
  limit.bytes_per_step = 1;  // exact ledgers see every byte; the host heap's floor stands in the docs
  return limit;
}

}  // namespace

Decision decide(const Trace& trace, const Trends& trends, const Policy& policy) {
  const auto exact = exact_trends(trace, trends);
  const auto host = host_growth_of(trace, trends);
  const auto devices = device_growths_of(trends);
  const auto pinned = pinned_trend(trends);
  const auto shared = shared_trend(trends);
  const bool are_devices_settled =
      std::all_of(devices.begin(), devices.end(), [](const auto& growth) { return growth.is_settled(); }) &&
      !pinned.is_growing();  // it comes and goes with the device: a block in use by a copy is not handed out again
  const bool is_device_leak =
      std::any_of(devices.begin(), devices.end(), [](const auto& growth) { return growth.is_leak(); }) ||
      pinned.is_growing();
  Decision decision{.limit = limit_of(exact)};
  const auto steps = trends.judged().count();
  const auto has_state = [&](TrendState state) {
    return std::any_of(exact.begin(), exact.end(), [&](const auto& ledger) { return ledger.trend.state == state; });
  };
  const bool is_flat =
      std::all_of(exact.begin(), exact.end(), [](const auto& ledger) { return ledger.trend.is_flat(); });
  // Alone the heap is noisy: it has to go on for twice as long.
  const bool is_host_leak = host.is_leak && (host.is_witnessed || steps >= 2 * policy.leak_steps ||
                                             trends.judged().last >= policy.budget_steps - kShortestRecord);
  const bool is_host_settled = host.is_settled || (host.is_decaying && steps >= policy.leak_steps);
  if (steps >= policy.clean_steps && is_flat && !shared.is_growing() && is_host_settled && are_devices_settled) {
    decision.next = Decision::Next::clean;
  } else if (steps >= policy.leak_steps &&
             (has_state(TrendState::growing) || is_host_leak || is_device_leak || shared.is_growing())) {
    decision.next = Decision::Next::leak;
  } else if (steps >= policy.proof_steps && has_state(TrendState::growing)) {
    decision.next = Decision::Next::leak;
    decision.needs_proof = true;
  } else if (trends.judged().last >= policy.budget_steps) {
    decision.next = Decision::Next::inconclusive;
    decision.reason = fmt::format("after {} steps {}", steps, unsettled_of(trace, are_devices_settled));
    for (const auto& [name, trend] : exact) {
      if (trend.is_flat()) continue;
      decision.reason = fmt::format(
          "after {} steps {} has not settled ({:+.1f} a step): run more --steps, or declare "
          "the --period of the step",
          steps, name, trend.per_step);
      break;
    }
  }
  return decision;
}

std::map<std::string, std::int64_t> steady_levels(const Trace& trace, StepRange judged) {
  std::map<std::string, std::int64_t> levels;
  for (const auto& ledger : trace.ledgers()) {
    const auto& key = ledger.key();
    if (!is_exact(key.counter) || key.moment == Moment::before_collection) continue;
    const auto values = values_of(trace, key, judged);
    if (values.empty()) continue;
    const auto settled = values.begin() + static_cast<std::ptrdiff_t>(values.size() * 3 / 4);
    // A peak is gated by its highest value, a level by the one that it always comes back to.
    levels[to_string(key)] = key.counter == Counter::peak_bytes ? *std::max_element(settled, values.end())
                                                                : *std::min_element(settled, values.end());
  }
  return levels;
}

std::vector<Finding> narrowed(const std::vector<Finding>& findings) {
  std::vector<Finding> kept;
  std::set<SeriesKey> explained;
  for (const auto& finding : findings) {
    const bool is_new = std::any_of(finding.accounts_for.begin(), finding.accounts_for.end(),
                                    [&](const SeriesKey& key) { return !explained.contains(key); });
    if (!is_new) continue;
    explained.insert(finding.accounts_for.begin(), finding.accounts_for.end());
    kept.push_back(finding);
  }
  return kept;
}

}  // namespace stepleak
