// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/detect/device_growth.hpp"

#include <fmt/format.h>

namespace stepleak {
namespace {

Trend difference_trend(const Trace& trace, const SeriesKey& upper, const SeriesKey& lower) {
  auto values = judged_series(trace, upper);
  const auto less = judged_series(trace, lower);
  for (std::size_t i = 0; i < values.size() && i < less.size(); ++i) values[i] -= less[i];
  return trend_of(values, {.period = trace.declared_period, .is_exact = false});
}

}  // namespace

std::vector<DeviceGrowth> device_growths_of(const Trace& trace) {
  std::vector<DeviceGrowth> growths;
  for (const auto& device : trace.devices()) {
    if (device.type == DeviceType::host) continue;
    const SeriesKey outside{Counter::outside_bytes, device};
    growths.push_back(
        {.device = device,
         .live = exact_trend(trace, {Counter::live_bytes, device}),
         .waiting = difference_trend(trace, {Counter::active_bytes, device}, {Counter::live_bytes, device}),
         .reserved = exact_trend(trace, {Counter::reserved_bytes, device}),
         .private_pool = exact_trend(trace, {Counter::private_pool_bytes, device}),
         .outside = trend_of(judged_series(trace, outside), {.period = trace.declared_period, .is_exact = false})});
  }
  return growths;
}

Trend pinned_trend(const Trace& trace) { return exact_trend(trace, {Counter::pinned_bytes}); }

std::string broken_chain(const Trace& trace) {
  for (const auto& device : trace.devices()) {
    const auto live = trace.series({Counter::live_bytes, device});
    const auto active = trace.series({Counter::active_bytes, device});
    const auto reserved = trace.series({Counter::reserved_bytes, device});
    for (std::size_t i = 0; i < active.size() && i < reserved.size(); ++i) {
      if (live[i] <= active[i] && active[i] <= reserved[i]) continue;
      return fmt::format("at step {} on {} live {} <= active {} <= reserved {} does not hold", i + 1, to_string(device),
                         live[i], active[i], reserved[i]);
    }
  }
  return {};
}

}  // namespace stepleak
