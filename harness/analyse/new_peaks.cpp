// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/analyse/new_peaks.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "harness/analyse/chance.hpp"

namespace stepleak {
namespace {

// The steps that need another amount of memory at once than all steps before them; none where that is not read of each
// step. Where what is kept rises, too, each step does.
std::optional<std::set<std::int64_t>> steps_with_new_peaks(const Trace& trace, std::int64_t last) {
  std::set<std::int64_t> found;
  bool is_known = false;
  for (const auto& device : trace.devices()) {
    const auto* peaks = trace.ledger({Counter::peak_bytes, device});
    if (peaks == nullptr || peaks->steps().empty()) continue;
    is_known = true;
    std::set<std::int64_t> seen;
    for (std::size_t i = 0; i < peaks->steps().size() && peaks->steps()[i] <= last; ++i) {
      const auto step = peaks->steps()[i];
      if (i > 0 && step != peaks->steps()[i - 1] + 1) return std::nullopt;
      if (seen.insert(peaks->values()[i]).second) found.insert(step);
    }
  }
  return is_known ? std::optional(std::move(found)) : std::nullopt;
}

bool is_recorded(const Trace& trace, StepRange range) {
  return std::ranges::any_of(trace.recordings(), [&](const Recording& recording) {
    return recording.pass.first_step <= range.last && range.first <= recording.last_step();
  });
}

struct Readings {
  double count = 0;
  double rises = 0;
  std::int64_t steps = 0;
  std::int64_t bytes = 0;
};

}  // namespace

bool rises_with_new_peaks(const Trace& trace, const Ledger& ledger, StepRange judged, double floor) {
  const auto new_peaks = steps_with_new_peaks(trace, judged.last);
  if (!new_peaks.has_value()) return false;
  Readings with_new;
  Readings others;
  for (std::size_t i = 1; i < ledger.steps().size() && ledger.steps()[i] <= judged.last; ++i) {
    const StepRange range{ledger.steps()[i - 1] + 1, ledger.steps()[i]};
    // Over a record pass the ledger has the harness's own work in it.
    if (range.first < judged.first || is_recorded(trace, range)) continue;
    const auto newest = new_peaks->lower_bound(range.first);
    auto& readings = newest != new_peaks->end() && *newest <= range.last ? with_new : others;
    const auto bytes = ledger.values()[i] - ledger.values()[i - 1];
    readings.count += 1;
    readings.rises += static_cast<double>(bytes) > floor * static_cast<double>(range.count()) ? 1 : 0;
    readings.steps += range.count();
    readings.bytes += bytes;
  }
  if (with_new.count <= 0) return false;
  const auto expected = others.count * with_new.rises / with_new.count;
  return expected >= kExpectedEvents && kExpectedEvents * others.rises <= expected &&
         static_cast<double>(others.bytes) < floor * static_cast<double>(others.steps);
}

}  // namespace stepleak
