// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "harness/probes/probe.hpp"
#include "harness/probes/python/python_collector.hpp"
#include "harness/probes/python/swap_guard.hpp"

namespace stepleak {

/// Objects that Python's collector tracks, born after the collector was frozen; exact after a collection.
/// Not seen: numbers, strings and containers of only these, which the collector does not track.
class PythonProbe final : public Probe {
 public:
  /// `collector` outlives the probe.
  explicit PythonProbe(const PythonCollector& collector) : collector_(collector) {}
  [[nodiscard]] std::string_view name() const override { return "python"; }
  [[nodiscard]] std::vector<SeriesKey> keys() const override { return {{Counter::python_objects}}; }
  void start() override;
  void stop() noexcept override;
  void read(Moment moment, std::span<std::int64_t> row) override;

 private:
  const PythonCollector& collector_;
  std::unique_ptr<SwapGuard> swap_guard_;
};

}  // namespace stepleak
