// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/analyse/trends.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "harness/analyse/new_peaks.hpp"
#include "harness/analyse/own_work.hpp"

namespace stepleak {
namespace {

// A ledger of the whole process, less what an exact one, where there is such a `part`, tells of the same bytes, at the
// boundaries where the first was read.
Ledger process_ledger(const Trace& trace, const SeriesKey& key, const std::optional<SeriesKey>& part = std::nullopt) {
  const auto* whole = trace.ledger(key);
  const auto* known = part ? trace.ledger(*part) : nullptr;
  Ledger rest{key};
  if (whole == nullptr) return rest;
  for (std::size_t i = 0; i < whole->steps().size(); ++i) {
    const auto step = whole->steps()[i];
    const auto at_step = known == nullptr ? std::vector<std::int64_t>() : known->held(step, step);
    rest.add(step, whole->values()[i] - (at_step.empty() ? 0 : at_step.front()));
  }
  return without_own_work(rest, own_work_of(trace));
}

// What the process has in all, of which the harness's own work is a part.
bool is_of_process(Counter counter) {
  return counter == Counter::heap_bytes || counter == Counter::mapped_bytes || counter == Counter::python_blocks ||
         counter == Counter::resident_bytes;
}

struct Gap {
  std::int64_t steps = 1;
  std::int64_t before = 0;  // the reading at its begin; 0: there is none
};

// The longest between two readings of a ledger; the first of several.
Gap longest_gap(const Ledger& ledger, StepRange range) {
  Gap longest;
  std::int64_t last = 0;
  for (const auto step : ledger.steps()) {
    if (step > range.last) break;
    if (last >= range.first && step - last > longest.steps) longest = {step - last, last};
    last = step;
  }
  return longest;
}

// On the line between the readings before and after a step; 0 before the first, the last one after it.
std::int64_t between_readings(const Ledger& ledger, std::int64_t step) {
  const auto& steps = ledger.steps();
  const auto& values = ledger.values();
  const auto next = static_cast<std::size_t>(std::upper_bound(steps.begin(), steps.end(), step) - steps.begin());
  if (next == 0) return 0;
  if (next == steps.size()) return values.back();
  const auto rise = values[next] - values[next - 1];
  return values[next - 1] + rise * (step - steps[next - 1]) / (steps[next] - steps[next - 1]);
}

std::vector<std::int64_t> waiting_bytes(const Trace& trace, Device device, StepRange range) {
  auto values = values_of(trace, {Counter::active_bytes, device}, range);
  const auto live = values_of(trace, {Counter::live_bytes, device}, range);
  for (std::size_t i = 0; i < values.size() && i < live.size(); ++i) values[i] -= live[i];
  return values;
}

// Of values that begin with the judged steps: counted from the run's first step.
Trend judged_trend(const std::vector<std::int64_t>& values, const TrendOptions& options, StepRange judged) {
  auto trend = trend_of(values, options);
  if (trend.since_step > 0) trend.since_step += judged.first - 1;
  return trend;
}

// Between the first reading after the first quarter of the steps, which is warm-up, and the last.
double rate_of_readings(const Ledger& ledger, StepRange judged) {
  const auto& steps = ledger.steps();
  const auto first = std::lower_bound(steps.begin(), steps.end(), judged.first + judged.count() / 4) - steps.begin();
  const auto last = std::upper_bound(steps.begin(), steps.end(), judged.last) - steps.begin() - 1;
  if (last <= first) return 0;
  const auto at = [&](std::ptrdiff_t i) { return ledger.values()[static_cast<std::size_t>(i)]; };
  const auto count = steps[static_cast<std::size_t>(last)] - steps[static_cast<std::size_t>(first)];
  return static_cast<double>(at(last) - at(first)) / static_cast<double>(count);
}

struct StepsSeen {
  std::int64_t most = 0;
  std::int64_t fewest = 0;
  std::int64_t since = 0;  ///< the reading that is held at the earlier one's begin
};

// The steps that lie between what is held at one of the two newest windows' begin and at the next one's: what a leak
// adds in these steps is seen.
StepsSeen steps_seen(const Ledger& ledger, StepRange judged, std::int64_t window) {
  const auto read_by = [&](std::int64_t step) {
    const auto next = std::upper_bound(ledger.steps().begin(), ledger.steps().end(), step);
    return next == ledger.steps().begin() ? 0 : *std::prev(next);
  };
  const auto begin_of = [&](std::int64_t windows_to_end) { return read_by(judged.last - windows_to_end * window + 1); };
  const auto [fewest, most] = std::minmax({begin_of(2) - begin_of(3), begin_of(1) - begin_of(2)});
  return {most, fewest, begin_of(3)};
}

// Of a ledger that is read now and then. Windows are of whole readings, where they hold two: then a window rises by
// what as many steps add. What is held over a window of one reading or two says as much of when it was read as of what;
// where nothing was read for longer than a window, as in a record pass, what is held looks flat. What grew up to such a
// pass is flat only where it was read over both of the windows that say so.
Trend process_trend(const Trace& trace, const Ledger& ledger, TrendOptions options, StepRange judged) {
  const auto [gap, before_gap] = longest_gap(ledger, judged);
  const bool is_declared = options.period > 0;
  const auto given = options;
  if (!is_declared && window_of(judged.count()) >= 2 * gap) options.period = gap;
  auto trend = judged_trend(ledger.held(judged.first, judged.last), options, judged);
  const auto* read = trace.ledger(ledger.key());
  const auto seen = steps_seen(read == nullptr ? ledger : *read, judged, trend.window);
  const auto own_steps = own_work_of(trace);
  const bool is_half_seen =
      2 * seen.fewest < trend.window &&
      std::any_of(own_steps.begin(), own_steps.end(), [&](std::int64_t step) { return step > seen.since; });
  // The longest gap is a record pass's.
  const auto was_growing = [&, before = before_gap] {
    return before > judged.first && trend_of(ledger.held(judged.first, before), given).is_growing();
  };
  const bool is_unseen = 2 * seen.most < trend.window || (is_half_seen && was_growing());
  if (trend.is_flat() && is_unseen) trend.state = TrendState::undecided;
  const bool is_open = trend.state == TrendState::undecided && !trend.is_in_stairs;
  if (is_open && has_rested_since(own_steps, ledger, judged, given.floor)) trend.state = TrendState::flat;
  trend.is_half_seen = is_half_seen;
  trend.floor = options.floor;
  if (seen.most > 0) trend.floor *= std::max(1.0, static_cast<double>(trend.window) / static_cast<double>(seen.most));
  if (!trend.is_growing() || is_declared || trend.window >= 2 * gap) return trend;
  if (const auto rate = rate_of_readings(ledger, judged); rate > 0) trend.per_step = rate;
  return trend;
}

const Trend& found(const std::map<Device, Trend>& trends, Device device) {
  static const Trend kUnknown;
  const auto known = trends.find(device);
  return known == trends.end() ? kUnknown : known->second;
}

}  // namespace

std::int64_t judged_from(const Trace& trace) {
  const auto& passes = trace.passes();
  const auto look = trace.looks().empty() ? 0 : trace.looks().back().step;
  auto following = std::numeric_limits<std::int64_t>::max();
  for (auto pass = passes.rbegin(); pass != passes.rend(); ++pass) {
    if (pass->type == PassType::fill) {
      if (look >= pass->first_step && look < following) return pass->first_step;
      if (pass != passes.rbegin()) return following;
    }
    following = pass->first_step;
  }
  return 1;
}

StepRange judged_steps(const Trace& trace) {
  const auto last = trace.looks().empty() ? trace.step_count() : trace.looks().back().step;
  const auto first = judged_from(trace);
  return {first <= last ? first : 1, last};
}

Ledger objects_alive(const Trace& trace) {
  const SeriesKey key{Counter::python_objects};
  Ledger alive{key};
  const auto* counted = trace.ledger(key);
  const auto* deaths = trace.ledger({Counter::frozen_deaths});
  if (counted == nullptr) return alive;
  for (std::size_t i = 0; i < counted->steps().size(); ++i) {
    const auto step = counted->steps()[i];
    alive.add(step, counted->values()[i] - (deaths == nullptr ? 0 : between_readings(*deaths, step)));
  }
  return alive;
}

std::vector<std::int64_t> values_of(const Trace& trace, const SeriesKey& key, StepRange range) {
  if (key == SeriesKey{Counter::python_objects}) return objects_alive(trace).held(range.first, range.last);
  const auto* ledger = trace.ledger(key);
  return ledger == nullptr ? std::vector<std::int64_t>() : ledger->held(range.first, range.last);
}

std::vector<std::int64_t> collected_bytes(const Trace& trace, Device device, StepRange range) {
  auto total = values_of(trace, {Counter::live_bytes, device, Moment::before_collection}, range);
  const auto after = values_of(trace, {Counter::live_bytes, device}, range);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < total.size(); ++i) total[i] = sum += total[i] - after.at(i);
  return total;
}

Trends::Trends(const Trace& trace, StepRange judged) : judged_(judged) {
  const auto period = trace.facts().declared_period;
  const TrendOptions exact{.period = period};
  const TrendOptions noisy{.period = period, .is_exact = false};
  const TrendOptions host{.period = period, .floor = kHeapFloorBytes, .is_exact = false};
  const TrendOptions heap_bytes{.period = period, .floor = kHeapFloorBytes, .is_exact = false, .sees_stairs = true};
  const TrendOptions mapped{.period = period, .floor = kMappedFloorBytes, .is_exact = false, .sees_stairs = true};
  const TrendOptions blocks{.period = period, .floor = kBlockFloor, .is_exact = false};
  const auto note_decay = [&](const Ledger& ledger, StepRange range, double floor = 0) {
    const auto values = ledger.held(range.first, range.last);
    auto decay = stepleak::decay_of(values, floor, longest_gap(ledger, range).steps);
    // The step in which a buffer grows has the most memory so far, too, and no shape that is new.
    const bool may_be_of_shapes = floor > 0 && !is_fading(decay) && !rises_in_stairs(values);
    if (may_be_of_shapes && rises_with_new_peaks(trace, ledger, range, floor)) decay = Decay::of_shapes;
    if (decay != Decay::none) decays_[ledger.key()] = decay;
  };
  for (const auto& ledger : trace.ledgers()) {
    const auto& key = ledger.key();
    if (key.moment == Moment::before_collection || is_of_process(key.counter)) continue;
    if (key.counter == Counter::children_bytes || key.counter == Counter::frozen_deaths) continue;  // not judged
    auto range = judged;
    auto options = key.counter == Counter::outside_bytes ? noisy : exact;
    if (key.counter == Counter::cuda_objects) {
      if (ledger.steps().empty()) continue;
      range.first = std::max(range.first, ledger.steps().front());
      options.period = 0;  // of which the few steps that count at first hold no three
    }
    ledgers_[key] = judged_trend(values_of(trace, key, range), options, range);
    if (!is_exact(key.counter)) note_decay(ledger, range);
  }
  for (const auto& device : trace.devices()) {
    collected_[device] = judged_trend(collected_bytes(trace, device, judged), exact, judged);
    if (device.type != DeviceType::host) {
      waiting_[device] = judged_trend(waiting_bytes(trace, device, judged), noisy, judged);
    }
  }
  const auto heap = process_ledger(trace, {Counter::heap_bytes}, SeriesKey{Counter::live_bytes});
  heap_ = process_trend(trace, heap, heap_bytes, judged);
  supported_heap_ =
      process_trend(trace, heap, {.period = period, .floor = kSupportedFloorBytes, .is_exact = false}, judged);
  light_heap_ = process_trend(trace, heap, {.period = period, .floor = kHeapNoiseBytes, .is_exact = false}, judged);
  note_decay(heap, judged, kHeapFloorBytes);
  // Page-locked memory is mapped, too.
  const SeriesKey pages{Counter::mapped_bytes};
  if (trace.has(pages)) {
    const auto rest = process_ledger(trace, pages, SeriesKey{Counter::pinned_bytes});
    ledgers_[pages] = process_trend(trace, rest, mapped, judged);
    note_decay(rest, judged, kMappedFloorBytes);
  }
  const SeriesKey small_blocks{Counter::python_blocks};
  if (trace.has(small_blocks)) {
    const auto rest = process_ledger(trace, small_blocks);
    ledgers_[small_blocks] = process_trend(trace, rest, blocks, judged);
    light_blocks_ = process_trend(trace, rest, {.period = period, .floor = kBlockNoise, .is_exact = false}, judged);
    note_decay(rest, judged, kBlockFloor);
  }
  resident_ = process_trend(trace, process_ledger(trace, {Counter::resident_bytes}), host, judged);
}

const Trend& Trends::of(const SeriesKey& key) const {
  static const Trend kUnknown;
  const auto known = ledgers_.find(key);
  return known == ledgers_.end() ? kUnknown : known->second;
}

Decay Trends::decay_of(const SeriesKey& key) const {
  const auto known = decays_.find(key);
  return known == decays_.end() ? Decay::none : known->second;
}

const Trend& Trends::waiting(Device device) const { return found(waiting_, device); }
const Trend& Trends::collected(Device device) const { return found(collected_, device); }

std::vector<Device> Trends::devices() const {
  std::vector<Device> devices;
  for (const auto& [device, trend] : collected_) devices.push_back(device);
  return devices;
}

}  // namespace stepleak
