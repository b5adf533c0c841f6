// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/analyse/decision.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <set>
#include <span>

#include "harness/analyse/ages.hpp"
#include "harness/analyse/device_growth.hpp"
#include "harness/analyse/host_growth.hpp"
#include "harness/analyse/record_outcome.hpp"
#include "harness/analyse/storage_growth.hpp"

namespace stepleak {
namespace {

struct LedgerTrend {
  std::string name;
  Trend trend;
  std::string_view doubt;  // growing: why it may be none; else empty
  double noise = 0;        // bytes that are flat as a level that trembles: a growth a step that could hide in it
};

// Tensors and nodes may hold blocks of any device.
std::vector<Device> devices_of(const Trace& trace, const SeriesKey& key) {
  return key.counter == Counter::live_bytes ? std::vector{key.device} : trace.devices();
}

// Within the last three quarters. What only rises, however rarely, has not shown that it dies.
bool has_fallen(const std::vector<std::int64_t>& values) {
  const auto settled = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  return std::adjacent_find(settled, values.end(), std::greater<>()) != values.end();
}

// A line that rises by twice as much as a level trembles lies above it from the half of the steps on, whatever chance
// does: the rank test of has_upward_trend() sees that.
double noise_of(std::span<const std::int64_t> level) {
  const auto [lowest, highest] = std::minmax_element(level.begin(), level.end());
  return 2 * static_cast<double>(*highest - *lowest) / static_cast<double>(level.size());
}

// Whether it moved only in steps in which the bytes of some device did, which have stood still for half of all steps:
// what filled then is full, though a tensor more, once, is too rare to show that alone.
bool has_moved_with_bytes(const Trace& trace, const std::vector<std::int64_t>& values, const Trends& trends) {
  const auto devices = trace.devices();
  return std::any_of(devices.begin(), devices.end(), [&](const Device& device) {
    const SeriesKey key{Counter::live_bytes, device};
    const auto bytes = values_of(trace, key, trends.judged());
    if (!trends.of(key).is_flat() || bytes.size() != values.size()) return false;
    std::size_t last_change = 0;
    for (std::size_t i = 1; i < bytes.size(); ++i) {
      if (bytes[i] != bytes[i - 1]) last_change = i;
      if (values[i] != values[i - 1] && last_change != i) return false;
    }
    return last_change > 0 && 2 * (bytes.size() - 1 - last_change) >= bytes.size();
  });
}

// Whether all that was seen to grow, and of which that is known, ends with its keys, or where something bounds it.
bool is_to_end(const Trace& trace) {
  bool is_any = false;
  for (const auto& recording : trace.recordings()) {
    for (const auto& holder : recording.holders) {
      if (holder.gained_entries <= 0) continue;
      const auto type = holder.structure.type;
      if (type != StructureType::keyed && type != StructureType::bounded) return false;
      is_any = true;
    }
  }
  return is_any;
}

// Whether a cache that meets ever fewer new keys has met none for a quarter of a long run: none of what was born in it
// lives on, but for the youngest, and what those take does not rise.
bool has_come_to_rest(const Trace& trace, const std::vector<Device>& devices, const std::vector<std::int64_t>& values,
                      StepRange judged) {
  const std::span<const std::int64_t> late(values.begin() + std::ssize(values) * 5 / 8, values.end());
  const StepRange newest{judged.last - judged.count() / 4, judged.last - judged.count() / 16};
  return judged.count() >= Policy{}.last_to_record() && is_to_end(trace) && !has_upward_trend(late) &&
         std::all_of(devices.begin(), devices.end(),
                     [&](const Device& device) { return blocks_alive_of(trace, device, newest) == 0; });
}

// Whether what may be noise has gone on for twice as long as what cannot be, or until the last look that a record pass
// can follow.
bool is_confirmed_twice(StepRange judged, const Policy& policy) {
  return judged.count() >= 2 * policy.leak_steps || judged.last >= policy.last_to_record();
}

// The cohorts are the second witness of live bytes. Where all of the middle have died, and the ledger comes down now
// and then, what moves it is young: sizes that vary, or one buffer that is reborn (its block count is flat and its
// bytes rise). Where some of the middle live on, but what has lived for long dies all the same, as where entries are
// replaced at random, it is a level that trembles; only many steps show that it is. So is one of blocks that are no
// more than before. Where what was to be cleared was not all cleared, a level that seems flat hides a remainder; after
// one clearing, as long as there is time for another, that is not known. Nor is it whether what gathers again since the
// only one will be cleared again.
LedgerTrend witnessed(const Trace& trace, const SeriesKey& key, const Trends& trends, const Policy& policy) {
  LedgerTrend ledger{.name = to_string(key), .trend = trends.of(key)};
  auto& state = ledger.trend.state;
  const auto judged = trends.judged();
  const auto devices = devices_of(trace, key);
  const auto values = values_of(trace, key, judged);
  const auto is_young = [&](const Device& device) { return middle_aged_blocks(trace, device, judged) == 0; };
  const auto is_renewed = [&](const Device& device) {
    return is_young(device) || are_old_dying(trace, device, judged);
  };
  const bool are_bytes = key.counter == Counter::live_bytes;
  const std::span<const std::int64_t> all(values);
  const auto settled = all.subspan(all.size() / 4);
  const SeriesKey blocks{Counter::live_blocks, key.device};
  const bool are_blocks_flat = are_bytes && trends.of(blocks).is_flat();
  // The tooth of something large hides in the bytes what small blocks add to them.
  const auto are_more_blocks = [&] {
    return are_bytes && !are_blocks_flat && has_upward_trend(values_of(trace, blocks, judged));
  };
  const auto take_for_trembling = [&](std::span<const std::int64_t> level) {
    state = TrendState::flat;
    if (are_bytes) ledger.noise = noise_of(level);
  };
  if (state == TrendState::undecided && has_fallen(values) && !has_upward_trend(values) && !are_more_blocks()) {
    if (std::all_of(devices.begin(), devices.end(), is_young)) {
      state = TrendState::flat;
    } else if (judged.count() >= policy.leak_steps &&
               (std::all_of(devices.begin(), devices.end(), is_renewed) || are_blocks_flat)) {
      take_for_trembling(settled);
    }
  }
  if (state == TrendState::undecided && comes_back(settled)) state = TrendState::flat;
  if (state == TrendState::undecided && has_come_to_rest(trace, devices, values, judged)) {
    take_for_trembling(settled);
  }
  const bool is_long = judged.last >= Policy{}.last_to_record() && is_confirmed_twice(judged, policy);
  if (state == TrendState::undecided && is_long && has_levelled_off(values)) {
    take_for_trembling(all.subspan(all.size() / 2));
  }
  if (state == TrendState::undecided && !are_bytes && has_moved_with_bytes(trace, values, trends)) {
    state = TrendState::flat;
  }
  const bool is_constant = std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
  const bool is_last_look = judged.last >= policy.budget_steps;
  if (ledger.trend.is_flat() && !is_constant && std::any_of(devices.begin(), devices.end(), [&](const Device& device) {
        return has_remainder(trace, device, judged) || is_gathering_again(trace, device, judged) ||
               (!is_last_look && may_have_remainder(trace, device, judged));
      })) {
    state = TrendState::undecided;
  }
  return ledger;
}

// Of what comes and goes, and need not be flat where all is well: page-locked blocks that a copy still uses, batches
// that a loader's workers have ahead. What rose once is a level, of which the rank test says only that it is higher.
bool is_rising(const Trace& trace, const SeriesKey& key, const Trends& trends) {
  const auto& trend = trends.of(key);
  if (trend.state != TrendState::undecided) return trend.is_growing();
  const auto values = values_of(trace, key, trends.judged());
  std::int64_t rises = 0;
  for (std::size_t i = 1; i < values.size(); ++i) rises += values[i] > values[i - 1] ? 1 : 0;
  return rises > 1 && has_upward_trend(values);
}

// At a look page-locked memory is what is in use (OutsideProbe::settle). Where that is as low as what was there before,
// what it rose by were copies in flight, of which there are more the further the launches are ahead.
bool is_pinned_rising(const Trace& trace, const Trends& trends) {
  const SeriesKey key{Counter::pinned_bytes};
  if (!is_rising(trace, key, trends)) return false;
  const auto values = values_of(trace, key, trends.judged());
  const auto settled = values.begin() + std::ssize(values) / 4;
  const auto later = settled + (values.end() - settled) / 2;
  return trends.of(key).is_growing() || values.back() > *std::min_element(settled, later);
}

// Whether bytes rise by less than they fell at once: by the tooth of something that varies, such as the sequences of
// requests that come and go. More blocks than before are no chance, nor is what repeats.
bool is_within_a_tooth(const Trace& trace, const SeriesKey& key, const Trends& trends) {
  const auto& trend = trends.of(key);
  const bool are_more = trends.of({Counter::live_blocks, key.device}).is_growing();
  if (key.counter != Counter::live_bytes || trend.period > 0 || are_more) return false;
  const auto values = values_of(trace, key, trends.judged());
  std::int64_t deepest_fall = 0;
  for (auto i = values.size() / 4 + 1; i < values.size(); ++i) {
    deepest_fall = std::max(deepest_fall, values[i - 1] - values[i]);
  }
  return static_cast<double>(deepest_fall) >= trend.per_step * static_cast<double>(3 * trend.window);
}

// Whether sizes grow, in more than one buffer that is made anew: larger ones take the place of others, as in a table of
// the best so far, or in one scratch buffer a layer. Sizes have an end in all that is healthy; in a leak they rise
// alike, and go on.
bool may_sizes_end(const Trace& trace, const SeriesKey& key, const Trends& trends, const Policy& policy) {
  const auto judged = trends.judged();
  const bool is_of_sizes = key.counter == Counter::live_bytes && trends.of(key).period == 0 &&
                           are_sizes_growing(trends, key.device) && is_growth_of_all_ages(trace, key.device, judged);
  return is_of_sizes && (!is_confirmed_twice(judged, policy) || is_decaying(values_of(trace, key, judged)));
}

// Whether twice as many steps have passed since the newest clearing as ever before one (the run may have begun in the
// middle of a tooth), and as many as a trend alone needs.
bool is_overdue(const std::vector<std::int64_t>& clearings, StepRange judged, const Policy& policy) {
  std::int64_t longest = 0;
  auto before = judged.first - 1;
  for (const auto step : clearings) {
    longest = std::max(longest, step - before);
    before = step;
  }
  return judged.last - before >= std::max(2 * longest, policy.leak_steps);
}

// Whether what was cleared once or twice on a device may be about to be cleared again.
bool is_clearing_awaited(const Trace& trace, Device device, StepRange judged, const Policy& policy) {
  constexpr std::int64_t kFewTeeth = 2;
  const auto clearings = clearings_of(trace, device, judged);
  if (clearings.empty() || std::ssize(clearings) > kFewTeeth) return false;
  const bool is_awaited =
      drops_like_a_clearing(trace, device, judged) <= kFewTeeth && !is_overdue(clearings, judged, policy);
  return is_awaited || !is_confirmed_twice(judged, policy);
}

// What speaks against a growth that its trend shows. A list that was cleared once or twice is about to be cleared
// again: until that is overdue and it is confirmed twice, a tooth is no line.
std::string_view doubt_of(const Trace& trace, const SeriesKey& key, const Trends& trends, const Policy& policy) {
  const auto judged = trends.judged();
  if (!trends.of(key).is_growing()) return {};
  // What lives for a time of its own levels off, and on its way there never repeats. A queue that takes two in each
  // step and hands one out does, though its oldest go.
  const bool may_end = !is_confirmed_twice(judged, policy) || trends.of(key).period == 0;
  for (const auto& device : devices_of(trace, key)) {
    // Entries that are replaced by larger ones die, too, and are no more of them.
    const bool are_more = !trends.of({Counter::live_blocks, device}).is_flat();
    if (are_more && may_end && are_old_dying(trace, device, judged)) return "what has lived for long dies all the same";
    if (is_clearing_awaited(trace, device, judged, policy)) return "what it consists of has been cleared before";
  }
  if (may_sizes_end(trace, key, trends, policy)) return "larger ones take the place of others";
  if (is_within_a_tooth(trace, key, trends) && !is_confirmed_twice(judged, policy)) {
    return "it has come down by more than it rose";
  }
  return {};
}

// Bytes first: what moves them may keep nodes and tensors from being settled, and says more.
std::vector<LedgerTrend> exact_trends(const Trace& trace, const Trends& trends, const Policy& policy) {
  std::vector<LedgerTrend> exact;
  const auto add_all = [&](std::initializer_list<Counter> counters) {
    for (const auto& ledger : trace.ledgers()) {
      const auto& key = ledger.key();
      const bool is_wanted = std::find(counters.begin(), counters.end(), key.counter) != counters.end();
      if (!is_wanted || key.moment == Moment::before_collection) continue;
      auto known = witnessed(trace, key, trends, policy);
      known.doubt = doubt_of(trace, key, trends, policy);
      exact.push_back(std::move(known));
    }
  };
  add_all({Counter::live_bytes});
  add_all({Counter::live_nodes, Counter::live_tensors});
  if (trace.facts().has_python && !trace.is_collector_enabled()) {
    for (const auto& device : trace.devices()) {
      if (!trace.has({Counter::live_bytes, device, Moment::before_collection})) continue;
      exact.push_back(
          {.name = fmt::format("uncollected bytes on {}", to_string(device)), .trend = trends.collected(device)});
    }
  }
  return exact;
}

// The first ledger of a GPU, or of page-locked memory, that has not settled; empty where all have.
std::string unsettled_device_of(const Trace& trace, const Trends& trends, const std::vector<DeviceGrowth>& devices,
                                bool may_decay) {
  for (const auto& device : devices) {
    if (auto name = device.unsettled(may_decay); !name.empty()) return name;
  }
  return is_pinned_rising(trace, trends) ? to_string(SeriesKey{Counter::pinned_bytes}) : "";
}

struct Unsettled {
  std::string what;
  std::string advice;
};

// What has not settled, the exact ledgers first. `device`: the ledger of a GPU that has not; else empty.
Unsettled unsettled_of(const Trace& trace, const Trends& trends, const std::vector<LedgerTrend>& exact,
                       const std::string& device, const Policy& policy) {
  // Of a declared period each of the four windows has one at least, behind the warm-up.
  const auto period = trace.facts().declared_period;
  if (const auto needed = (16 * period + 2) / 3; trends.judged().count() < needed) {
    return {fmt::format("the declared period of {} steps was not seen four times behind the warm-up", period),
            fmt::format(": let it run {} steps at least", needed)};
  }
  const auto longer = longer_run(trends.judged().last, policy);
  const auto moving =
      std::find_if(exact.begin(), exact.end(), [](const LedgerTrend& ledger) { return !ledger.trend.is_flat(); });
  if (moving != exact.end()) {
    return {fmt::format("{} has not settled ({:+.1f} a step{}{})", moving->name, moving->trend.per_step,
                        moving->doubt.empty() ? "" : "; ", moving->doubt),
            fmt::format(": let it run {}, or declare the step's period", longer)};
  }
  if (!device.empty()) return {fmt::format("{} still moves", device), fmt::format(": let it run {}", longer)};
  const SeriesKey mapped{Counter::mapped_bytes};
  if (trends.heap().is_flat() && trace.has(mapped) && !trends.of(mapped).is_flat()) {
    return {"memory that is mapped outside malloc still moves", fmt::format(": let it run {}", longer)};
  }
  if (trace.has({Counter::heap_bytes})) return {"the host heap still moves", fmt::format(": let it run {}", longer)};
  return {"RSS or Python objects still grow, and the host heap is not seen", ""};
}

// Of the ledgers that are not exact. Of the driver's memory one page is the least that it can rise by.
std::map<SeriesKey, double> floors_of(const Trace& trace, const Trends& trends) {
  std::map<SeriesKey, double> floors;
  // What was never read (CUDA objects, where CUPTI could not be had) says nothing.
  const auto add = [&](const SeriesKey& key, double floor) {
    const auto* ledger = trace.ledger(key);
    if (ledger != nullptr && !ledger->steps().empty()) floors[key] = floor;
  };
  const bool is_heap_seen = trace.has({Counter::heap_bytes});
  const auto& heap = is_heap_seen ? trends.heap() : trends.resident();
  add({is_heap_seen ? Counter::heap_bytes : Counter::resident_bytes}, heap.floor);
  add({Counter::mapped_bytes}, trends.of({Counter::mapped_bytes}).floor);
  add({Counter::python_blocks}, trends.of({Counter::python_blocks}).floor);
  add({Counter::python_objects}, kHeavyObjects);
  for (const auto& device : trace.devices()) {
    add({Counter::cuda_objects, device}, kObjectFloor);
    const SeriesKey outside{Counter::outside_bytes, device};
    const auto& trend = trends.of(outside);
    if (trend.window > 0) add(outside, kDriverPageBytes / static_cast<double>(4 * trend.window));
  }
  return floors;
}

// Where a tooth is longer than the settled steps, those show a level on its way up: torch.multiprocessing clears its
// cache of shared storages once in 128 batches and more. So they begin with the latest fall by the half of what they
// rise by at least.
std::vector<std::int64_t>::const_iterator latest_trough(const std::vector<std::int64_t>& values,
                                                        std::vector<std::int64_t>::const_iterator settled) {
  const auto [lowest, highest] = std::minmax_element(settled, values.end());
  const auto tooth = *highest - *lowest;
  if (tooth == 0) return settled;
  for (auto value = settled; value != values.begin(); --value) {
    if (2 * (*std::prev(value) - *value) >= tooth) return value;
  }
  return settled;
}

Limit limit_of(const std::vector<LedgerTrend>& exact, const Trace& trace, const Trends& trends) {
  Limit limit{.bytes_per_step = 1, .floors = floors_of(trace, trends)};
  for (const auto& ledger : exact) {
    if (ledger.trend.window > 0) limit.period_steps = std::max(limit.period_steps, ledger.trend.window);
    limit.bytes_per_step = std::max(limit.bytes_per_step, static_cast<std::int64_t>(std::ceil(ledger.noise)));
  }
  return limit;
}

// Those of several that explain a ledger which none before them explains.
std::vector<Finding> explaining(const std::vector<Finding>& findings) {
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

// Whether none of the last values is as low as one of as many before them.
bool is_above_before(const std::vector<std::int64_t>& values, std::vector<std::int64_t>::const_iterator settled) {
  const auto count = values.end() - settled;
  if (settled - values.begin() < count) return false;
  return *std::min_element(settled, values.end()) > *std::max_element(settled - count, settled);
}

// Whether few objects that grow may be callbacks or large records, or were as they were recorded. A quick run has no
// steps for a record pass that is long enough.
bool are_few_objects_suspect(const Trace& trace, const Trends& trends, const HostGrowth& host, const Policy& policy) {
  const bool may_record = trace.facts().has_python && policy.clean_steps >= Policy{}.clean_steps &&
                          trends.judged().last + kShortestRecord <= policy.budget_steps;
  if (!host.are_objects_few() || !may_record || trends.judged().count() < policy.clean_steps) return false;
  return trace.recordings().empty() || holder_of_few_objects(trace.recording(), host) >= 0;
}

// Whether such were added while steps were recorded, and the objects have not shown yet that no more are, as they
// do in as many steps as a trend alone needs; of what the record pass leaves itself they are told apart once it is part
// of the warm-up, the first quarter.
bool are_few_objects_awaited(const Trace& trace, const Trends& trends, const HostGrowth& host, const Policy& policy) {
  if (trace.recordings().empty() || host.objects.state != TrendState::undecided) return false;
  const auto& recording = trace.recording();
  const auto judged = trends.judged();
  const bool is_within_warm_up = recording.last_step() < judged.first + judged.count() / 4;
  const bool is_to_come = judged.count() < policy.leak_steps || !is_within_warm_up;
  return is_to_come && holder_of_few_objects(recording) >= 0;
}

}  // namespace

Decision decide(const Trace& trace, const Trends& trends, const Policy& policy) {
  const auto exact = exact_trends(trace, trends, policy);
  const auto host = host_growth_of(trace, trends);
  const auto devices = device_growths_of(trace, trends);
  const auto pinned = pinned_trend(trends);
  const auto shared = shared_trend(trends);
  const auto steps = trends.judged().count();
  const bool may_decay = steps >= policy.leak_steps;
  const auto unsettled_device = unsettled_device_of(trace, trends, devices, may_decay);
  const bool are_devices_settled = unsettled_device.empty();
  const bool is_device_leak =
      std::any_of(devices.begin(), devices.end(), [](const auto& growth) { return growth.is_leak(); }) ||
      pinned.is_growing();
  Decision decision{.limit = limit_of(exact, trace, trends)};
  const bool is_growing =
      std::any_of(exact.begin(), exact.end(), [](const auto& ledger) { return ledger.trend.is_growing(); });
  const bool is_growing_beyond_doubt = std::any_of(
      exact.begin(), exact.end(), [](const auto& ledger) { return ledger.trend.is_growing() && ledger.doubt.empty(); });
  const bool is_flat =
      std::all_of(exact.begin(), exact.end(), [](const auto& ledger) { return ledger.trend.is_flat(); });
  // Alone the heap is noisy, and what tensors that are cleared together lie in, or beside, goes with them.
  const auto all = trace.devices();
  const bool may_host_leak = host.is_leak && std::none_of(all.begin(), all.end(), [&](const Device& device) {
                               return is_clearing_awaited(trace, device, trends.judged(), policy);
                             });
  const bool is_host_leak =
      may_host_leak && host.is_seen && (host.is_witnessed || is_confirmed_twice(trends.judged(), policy));
  // A quick run is too short: the readings that a record pass leaves out would hide that the heap rises ever more
  // slowly.
  const bool may_prove_host = may_host_leak && policy.clean_steps >= Policy{}.clean_steps;
  const bool are_objects_kept =
      std::any_of(devices.begin(), devices.end(), [](const auto& growth) { return growth.is_keeping_objects(); });
  const bool is_host_settled = host.is_settled || (host.is_fading && may_decay);
  const bool is_suspect = are_few_objects_suspect(trace, trends, host, policy);
  const bool are_few_kept = is_suspect && !trace.recordings().empty();
  const bool are_awaited = are_few_objects_awaited(trace, trends, host, policy);
  if (steps >= policy.clean_steps && is_flat && !is_rising(trace, {Counter::shared_bytes}, trends) && is_host_settled &&
      are_devices_settled && !is_suspect && !are_awaited) {
    decision.next = Decision::Next::clean;
  } else if (steps >= policy.leak_steps &&
             (is_growing_beyond_doubt || is_host_leak || is_device_leak || shared.is_growing() || are_few_kept)) {
    decision.next = Decision::Next::leak;
  } else if (steps >= policy.proof_steps && (is_growing || may_prove_host || are_objects_kept || is_suspect) &&
             trends.judged().last < policy.budget_steps) {
    decision.next = Decision::Next::leak;
    decision.needs_proof = true;
  } else if (trends.judged().last >= policy.budget_steps) {
    decision.next = Decision::Next::inconclusive;
    const auto unsettled = unsettled_of(trace, trends, exact, unsettled_device, policy);
    decision.reason = fmt::format("after {} steps {}{}", trends.judged().last, unsettled.what, unsettled.advice);
  } else if (steps >= policy.clean_steps) {
    decision.reason = unsettled_of(trace, trends, exact, unsettled_device, policy).what;
  }
  return decision;
}

std::map<std::string, std::int64_t> steady_levels(const Trace& trace, StepRange judged) {
  std::map<std::string, std::int64_t> levels;
  for (const auto& ledger : trace.ledgers()) {
    const auto& key = ledger.key();
    if (!is_exact(key.counter) || key.moment == Moment::before_collection) continue;
    // A record pass sets objects apart: what takes the place of some of them counts as more from then on.
    if (key.counter == Counter::python_objects && !trace.recordings().empty()) continue;
    const auto values = values_of(trace, key, judged);
    if (values.empty()) continue;
    const auto settled = values.begin() + static_cast<std::ptrdiff_t>(values.size() * 3 / 4);
    // A few objects a step are no leak, and how many there are is a matter of how many steps a clean run took.
    if (key.counter == Counter::python_objects && is_above_before(values, settled)) continue;
    // A peak is gated by its highest value, a level by the one that it always comes back to.
    levels[to_string(key)] = key.counter == Counter::peak_bytes
                                 ? *std::max_element(settled, values.end())
                                 : *std::min_element(latest_trough(values, settled), values.end());
  }
  return levels;
}

std::vector<Finding> narrowed(const std::vector<Finding>& findings) {
  auto kept = explaining(findings);
  if (!std::all_of(kept.begin(), kept.end(), says_nothing)) return kept;
  // What its memory is, where it is another library's, another finding says.
  std::vector<Finding> telling;
  std::remove_copy_if(findings.begin(), findings.end(), std::back_inserter(telling), says_nothing);
  return telling.empty() ? kept : explaining(telling);
}

}  // namespace stepleak
