// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "harness/probes/holder_search.hpp"
#include "harness/probes/python/python_collector.hpp"

namespace stepleak {

/// Paths from modules, running functions and the step to surviving tensors, through `stepleak._holders`.
/// Needs a running interpreter; takes the GIL itself.
class PythonHolderSearch final : public HolderSearch {
 public:
  /// `root`: the step as a Python object (`PyObject*`), the name of which paths start with; null: none.
  /// `collector` outlives the search, which needs it to see objects that were set apart. `ends_at`: when the run ends,
  /// whatever it has come to by then; a search takes no more than a part of what is left, and a minute at most.
  PythonHolderSearch(void* root, PythonCollector& collector,
                     std::optional<std::chrono::steady_clock::time_point> ends_at);
  ~PythonHolderSearch() override;
  PythonHolderSearch(const PythonHolderSearch&) = delete;
  PythonHolderSearch& operator=(const PythonHolderSearch&) = delete;
  void begin() override;
  void halfway() override;
  void end() override;
  /// Leaves the collector unfrozen.
  void search(Recording& recording) override;

 private:
  struct State;
  std::unique_ptr<State> state_;
  PythonCollector& collector_;
  std::optional<std::chrono::steady_clock::time_point> ends_at_;
};

}  // namespace stepleak
