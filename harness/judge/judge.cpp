// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/judge/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/detect/device_growth.hpp"
#include "harness/detect/host_growth.hpp"
#include "harness/detect/trend.hpp"

namespace stepleak {
namespace {

struct LedgerTrend {
  std::string name;
  Trend trend;
};

// Blocks born between the first and the last quarter of the run, of which some still live.
std::int64_t middle_aged_blocks(const Trace& trace, Device device) {
  const auto* table = trace.cohorts_of(device);
  if (table == nullptr) return -1;
  std::int64_t blocks = 0;
  for (const auto& cohort : table->cohorts) {
    if (cohort.birth_step > table->at_step / 4 && cohort.birth_step <= table->at_step * 3 / 4) blocks += cohort.blocks;
  }
  return blocks;
}

// The cohorts are the second witness of live bytes. Where all of the middle have died, what moves the ledger
// is young: sizes that vary, or one buffer that is reborn (its block count is flat and its bytes rise).
Trend witnessed(const Trace& trace, Device device, Trend trend) {
  const auto middle = middle_aged_blocks(trace, device);
  if (middle != 0 || trend.period > 0) return trend;
  if (trend.state == TrendState::undecided && trend.per_step <= 0) trend.state = TrendState::flat;
  return trend;
}

std::vector<LedgerTrend> exact_trends(const Trace& trace) {
  std::vector<LedgerTrend> trends;
  for (const auto& key : trace.keys()) {
    if (key.moment == Moment::before_collection) continue;
    if (key.counter != Counter::live_bytes && key.counter != Counter::live_nodes &&
        key.counter != Counter::live_tensors) {
      continue;
    }
    auto trend = exact_trend(trace, key);
    if (key.counter == Counter::live_bytes) trend = witnessed(trace, key.device, trend);
    trends.push_back({to_string(key), trend});
  }
  if (trace.collector.has_python && !trace.collector.is_enabled) {
    for (const auto& device : trace.devices()) {
      if (!trace.has({Counter::live_bytes, device, Moment::before_collection})) continue;
      trends.push_back({fmt::format("uncollected bytes on {}", to_string(device)),
                        trend_of(collected_bytes(trace, device), {.period = trace.declared_period})});
    }
  }
  return trends;
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

Decision decide(const Trace& trace, const Policy& policy) {
  const auto trends = exact_trends(trace);
  const auto host = host_growth_of(trace);
  const auto devices = device_growths_of(trace);
  const auto pinned = pinned_trend(trace);
  const bool are_devices_settled =
      std::all_of(devices.begin(), devices.end(), [](const auto& growth) { return growth.is_settled(); }) &&
      !pinned.is_growing();  // it comes and goes with the device: a block in use by a copy is not handed out again
  const bool is_device_leak =
      std::any_of(devices.begin(), devices.end(), [](const auto& growth) { return growth.is_leak(); }) ||
      pinned.is_growing();
  Decision decision{.limit = limit_of(trends)};
  const auto steps = trace.step_count();
  const auto has_state = [&](TrendState state) {
    return std::any_of(trends.begin(), trends.end(), [&](const auto& ledger) { return ledger.trend.state == state; });
  };
  const bool is_flat =
      std::all_of(trends.begin(), trends.end(), [](const auto& ledger) { return ledger.trend.is_flat(); });
  if (steps >= policy.clean_steps && is_flat && host.is_settled && are_devices_settled) {
    decision.next = Decision::Next::clean;
  } else if (steps >= policy.leak_steps && (has_state(TrendState::growing) || host.is_leak || is_device_leak)) {
    decision.next = Decision::Next::leak;
  } else if (steps >= policy.budget_steps) {
    decision.next = Decision::Next::inconclusive;
    decision.reason = fmt::format("after {} steps {} still moves", steps,
                                  are_devices_settled ? "the host heap" : "reserved, pinned or driver memory");
    for (const auto& [name, trend] : trends) {
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

std::map<std::string, std::int64_t> steady_levels(const Trace& trace) {
  std::map<std::string, std::int64_t> levels;
  for (const auto& key : trace.keys()) {
    if (!is_exact(key.counter) || key.moment == Moment::before_collection) continue;
    auto values = judged_series(trace, key);
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
