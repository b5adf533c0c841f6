// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/probes/sampled_probe.hpp"

namespace stepleak {

/// Memory of the processes that the step started (a loader's workers, a pool): to be noted, not to be judged, since
/// nothing in them is observed. Read at looks and at every 64th boundary, from the first child on.
class ChildProbe final : public SampledProbe {
 public:
  ChildProbe() : SampledProbe(64) {}

  [[nodiscard]] std::string_view name() const override { return "children"; }
  [[nodiscard]] std::vector<SeriesKey> keys() const override { return {{Counter::children_bytes}}; }
  void read(Moment moment, std::span<std::int64_t> row) override;

 private:
  bool has_seen_one_ = false;
};

}  // namespace stepleak
