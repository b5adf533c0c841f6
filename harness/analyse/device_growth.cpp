// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/analyse/device_growth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

namespace stepleak {
namespace {

// The position of the last value that is higher than all before it; 0 where there is none.
std::size_t last_rise(const std::vector<std::int64_t>& values) {
  std::size_t last = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i] > values[last]) last = i;
  }
  return last;
}

// Whether what is reserved was taken for what is live.
bool is_reserved_for_live(const Trace& trace, Device device, StepRange judged) {
  const auto rise_of = [&](Counter counter) { return last_rise(values_of(trace, {counter, device}, judged)); };
  const auto needed = std::max(rise_of(Counter::live_bytes), rise_of(Counter::peak_bytes));
  return rise_of(Counter::reserved_bytes) <= needed && 2 * static_cast<std::int64_t>(needed) <= judged.count();
}

// Whether one segment or one lot of them was taken after the warm-up, before half of the steps, and none since: a size
// that nothing cached was large enough for, and no drift, which takes more and more.
bool is_reserved_once(const Trace& trace, Device device, StepRange judged) {
  const auto values = values_of(trace, {Counter::reserved_bytes, device}, judged);
  const auto settled = values.begin() + std::ssize(values) / 4;
  const auto rises = std::inner_product(settled, values.end() - 1, settled + 1, 0, std::plus<>(), std::less<>());
  return rises <= 1 && 2 * last_rise(values) <= values.size();
}

}  // namespace

std::string DeviceGrowth::unsettled(bool may_decay) const {
  const auto named = [&](Counter counter) { return to_string(SeriesKey{counter, device}); };
  if (!reserved.is_flat() && !live.is_growing()) return named(Counter::reserved_bytes);
  if (waiting.is_growing()) return named(Counter::active_bytes);
  if (!outside.is_flat() && !(may_decay && is_fading(outside_decay))) return named(Counter::outside_bytes);
  const bool are_objects_settled = objects.is_flat() || objects.per_step < kObjectFloor;
  return are_objects_settled || (may_decay && is_fading(objects_decay)) ? "" : named(Counter::cuda_objects);
}

std::vector<DeviceGrowth> device_growths_of(const Trace& trace, const Trends& trends) {
  std::vector<DeviceGrowth> growths;
  for (const auto& device : trends.devices()) {
    if (device.type == DeviceType::host) continue;
    growths.push_back({.device = device,
                       .live = trends.of({Counter::live_bytes, device}),
                       .waiting = trends.waiting(device),
                       .reserved = trends.of({Counter::reserved_bytes, device}),
                       .private_pool = trends.of({Counter::private_pool_bytes, device}),
                       .outside = trends.of({Counter::outside_bytes, device}),
                       .objects = trends.of({Counter::cuda_objects, device}),
                       .outside_decay = trends.decay_of({Counter::outside_bytes, device}),
                       .objects_decay = trends.decay_of({Counter::cuda_objects, device})});
    auto& growth = growths.back();
    const bool is_open = growth.reserved.state == TrendState::undecided && !growth.live.is_growing();
    if (is_open &&
        (is_reserved_for_live(trace, device, trends.judged()) || is_reserved_once(trace, device, trends.judged()))) {
      growth.reserved.state = TrendState::flat;
    }
  }
  return growths;
}

Trend shared_trend(const Trends& trends) { return trends.of({Counter::shared_bytes}); }

Trend pinned_trend(const Trends& trends) { return trends.of({Counter::pinned_bytes}); }

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
