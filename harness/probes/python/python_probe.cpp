// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/probes/python/python_probe.hpp"

#include <pybind11/pybind11.h>

#include <utility>

namespace py = pybind11;

namespace stepleak {
namespace {

std::int64_t allocated_blocks() {
  const py::gil_scoped_acquire gil;
  // As it was before the first step, which may replace it.
  static const auto& count = *new py::object(py::module_::import("sys").attr("getallocatedblocks"));
  return count().cast<std::int64_t>();
}

}  // namespace

PythonProbe::PythonProbe(const PythonCollector& collector)
    : SampledProbe(8), collector_(collector), has_blocks_(allocated_blocks() > 0) {}

std::vector<SeriesKey> PythonProbe::keys() const {
  std::vector<SeriesKey> keys{{Counter::python_objects}, {Counter::frozen_deaths}};
  if (has_blocks_) keys.emplace_back(Counter::python_blocks);
  return keys;
}

void PythonProbe::start() {
  SampledProbe::start();
  if (!swap_guard_) swap_guard_ = std::make_unique<SwapGuard>();
}

void PythonProbe::stop() noexcept { swap_guard_.reset(); }

void PythonProbe::read(Moment moment, std::span<std::int64_t> row) {
  if (moment != Moment::after_collection) return;
  awaits_blocks_ |= has_blocks_ && is_due();
  if (!collector_.has_collected()) return;
  row[0] = collector_.objects();
  row[1] = collector_.frozen_deaths().value_or(kUnread);
  if (std::exchange(awaits_blocks_, false)) row[2] = allocated_blocks();
}

}  // namespace stepleak
