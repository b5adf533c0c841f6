// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "harness/probes/probe.hpp"

namespace stepleak {

/// Objects that Python's collector tracks, born after the collector was frozen; exact after a collection.
/// Not seen: numbers, strings and containers of only these, which the collector does not track.
/// All three classes need a running interpreter and take the GIL themselves.
class PythonProbe final : public Probe {
 public:
  [[nodiscard]] std::string_view name() const override { return "python"; }
  [[nodiscard]] std::vector<SeriesKey> keys() const override { return {{Counter::python_objects}}; }
  void read(Moment moment, std::span<std::int64_t> row) override;
};

/// Python's own cycle collector.
class PythonCollector final : public Collector {
 public:
  void freeze() override;
  void collect() override;
  void unfreeze() override;
  [[nodiscard]] bool is_enabled() const override;
};

/// Paths from modules, frames and the step to surviving tensors, through `stepleak._holders`.
class PythonHolderSearch final : public HolderSearch {
 public:
  /// `root`: the step as a Python object (`PyObject*`), the name of which paths start with; null: none.
  explicit PythonHolderSearch(void* root);
  ~PythonHolderSearch() override;
  void begin() override;
  void search(Trace& trace) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stepleak
