// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "harness/probes/python/python_collector.hpp"
#include "harness/probes/python/swap_guard.hpp"
#include "harness/probes/sampled_probe.hpp"

namespace stepleak {

/// Objects that Python's collector tracks, born after the collector was frozen: read only where it collected, since
/// garbage that waits for it comes and goes as a leak does.
/// Numbers, strings and containers of only these are not tracked: they show in the blocks of Python's own allocator,
/// which the host heap does not see, or in the host heap where Python takes its memory from malloc. The blocks are
/// sampled at every eighth boundary, or the next that collects: an answer takes 50 us in a process with torch. Takes
/// the GIL itself.
class PythonProbe final : public SampledProbe {
 public:
  /// `collector` outlives the probe.
  explicit PythonProbe(const PythonCollector& collector);
  [[nodiscard]] std::string_view name() const override { return "python"; }
  [[nodiscard]] std::vector<SeriesKey> keys() const override;
  void start() override;
  void stop() noexcept override;
  void read(Moment moment, std::span<std::int64_t> row) override;

 private:
  const PythonCollector& collector_;
  bool has_blocks_;             ///< Python has an allocator of its own in use
  bool awaits_blocks_ = false;  ///< since the newest boundary at which they were due
  std::unique_ptr<SwapGuard> swap_guard_;
};

}  // namespace stepleak
