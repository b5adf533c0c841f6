// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/python/frozen_objects.hpp"

#include <pybind11/pybind11.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace py = pybind11;

namespace stepleak {
namespace {

std::uintptr_t address_of(py::handle object) { return reinterpret_cast<std::uintptr_t>(object.ptr()); }

std::vector<std::uintptr_t> thawed_objects() {
  std::vector<std::uintptr_t> addresses;
  for (const auto& object : py::list(py::module_::import("gc").attr("get_objects")())) {
    addresses.push_back(address_of(object));
  }
  std::sort(addresses.begin(), addresses.end());
  return addresses;
}

}  // namespace

FrozenObjects::FrozenObjects() {
  const auto gc = py::module_::import("gc");
  if (gc.attr("get_freeze_count")().cast<std::int64_t>() == 0) return;
  const auto thawed = thawed_objects();
  gc.attr("unfreeze")();
  const auto all = thawed_objects();
  std::set_difference(all.begin(), all.end(), thawed.begin(), thawed.end(), std::back_inserter(addresses_));
}

void FrozenObjects::freeze_again() const {
  if (addresses_.empty()) return;
  const auto gc = py::module_::import("gc");
  const py::list objects = gc.attr("get_objects")();
  // gc.freeze() takes all that are tracked: the others are not, for that moment.
  std::vector<PyObject*> others;
  for (const auto& object : objects) {
    const bool is_one = std::binary_search(addresses_.begin(), addresses_.end(), address_of(object));
    if (is_one || PyObject_GC_IsTracked(object.ptr()) == 0) continue;
    PyObject_GC_UnTrack(object.ptr());
    others.push_back(object.ptr());
  }
  gc.attr("freeze")();
  for (auto* object : others) PyObject_GC_Track(object);
}

}  // namespace stepleak
