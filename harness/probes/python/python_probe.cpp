// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/python/python_probe.hpp"

#include <pybind11/embed.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace py = pybind11;

namespace stepleak {
namespace {

py::module_ gc() { return py::module_::import("gc"); }

}  // namespace

void PythonProbe::read(Moment moment, std::span<std::int64_t> row) {
  if (moment != Moment::after_collection) return;
  const py::gil_scoped_acquire gil;
  row[0] = static_cast<std::int64_t>(py::len(gc().attr("get_objects")()));
}

void PythonCollector::freeze() {
  const py::gil_scoped_acquire gil;
  gc().attr("collect")();
  gc().attr("freeze")();
}

void PythonCollector::collect() {
  const py::gil_scoped_acquire gil;
  gc().attr("collect")();
}

void PythonCollector::unfreeze() {
  const py::gil_scoped_acquire gil;
  gc().attr("unfreeze")();
}

bool PythonCollector::is_enabled() const {
  const py::gil_scoped_acquire gil;
  return gc().attr("isenabled")().cast<bool>();
}

struct PythonHolderSearch::State {
  py::object search;
};

PythonHolderSearch::PythonHolderSearch(void* root) : state_(std::make_unique<State>()) {
  const py::gil_scoped_acquire gil;
  const auto step =
      root == nullptr ? py::object(py::none()) : py::reinterpret_borrow<py::object>(static_cast<PyObject*>(root));
  state_->search = py::module_::import("stepleak._holders").attr("HolderSearch")(step);
}

PythonHolderSearch::~PythonHolderSearch() {
  const py::gil_scoped_acquire gil;
  state_.reset();
}

void PythonHolderSearch::begin() {
  const py::gil_scoped_acquire gil;
  state_->search.attr("begin")();
}

void PythonHolderSearch::search(Trace& trace) {
  const py::gil_scoped_acquire gil;
  // Tensors only: nodes and blocks have no Python object of their own.
  py::list wanted;
  std::map<std::string, std::set<int>> lines;
  // Sinks first: what a graph holds has no Python holder, and that proves nothing. Then the oldest.
  std::vector<const Survivor*> tensors;
  for (const auto& survivor : trace.survivors) {
    if (survivor.type == SurvivorType::tensor) tensors.push_back(&survivor);
  }
  std::stable_sort(tensors.begin(), tensors.end(), [](const Survivor* a, const Survivor* b) {
    return a->is_sink != b->is_sink ? a->is_sink : a->birth_step < b->birth_step;
  });
  for (const auto* survivor : tensors) wanted.append(py::int_(survivor->identity));
  for (const auto& stack : trace.stacks) {
    for (const auto& frame : stack) {
      if (frame.is_user) lines[frame.file].insert(frame.line);
    }
  }
  const py::dict found = state_->search.attr("search")(wanted, lines, trace.explained_steps);
  for (const auto& item : found["holders"].cast<py::list>()) {
    const auto holder = item.cast<py::dict>();
    trace.holders.push_back({.path = holder["path"].cast<std::string>(),
                             .shape = holder["shape"].cast<std::string>(),
                             .has_optimizer = holder["has_optimizer"].cast<bool>(),
                             .container_type = holder["container_type"].cast<std::string>(),
                             .container_length = holder["container_length"].cast<std::int64_t>(),
                             .bound = holder["bound"].cast<std::int64_t>(),
                             .kept_by = holder["kept_by"].cast<std::string>(),
                             .kept_at_file = holder["kept_at_file"].cast<std::string>(),
                             .kept_at_line = holder["kept_at_line"].cast<int>(),
                             .kept_expression = holder["kept_expression"].cast<std::string>()});
  }
  const auto holder_of = found["holder_of"].cast<std::map<std::uint64_t, int>>();
  const auto unreachable = found["unreachable"].cast<std::set<std::uint64_t>>();
  const auto held = found["held"].cast<std::set<std::uint64_t>>();
  for (auto& survivor : trace.survivors) {
    if (survivor.type != SurvivorType::tensor) continue;
    if (const auto holder = holder_of.find(survivor.identity); holder != holder_of.end())
      survivor.holder = holder->second;
    survivor.is_optimizer_state =
        survivor.holder >= 0 && trace.holders.at(static_cast<std::size_t>(survivor.holder)).has_optimizer;
    survivor.is_unreachable = unreachable.contains(survivor.identity);
    survivor.is_view_base = survivor.is_view_base && !held.contains(survivor.identity);
  }
}

}  // namespace stepleak
