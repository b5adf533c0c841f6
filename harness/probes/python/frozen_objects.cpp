// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/python/frozen_objects.hpp"

#include <pybind11/pybind11.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "harness/probes/python/collector_functions.hpp"

namespace py = pybind11;

namespace stepleak {
namespace {

std::uintptr_t address_of(py::handle object) { return reinterpret_cast<std::uintptr_t>(object.ptr()); }

std::vector<std::uintptr_t> thawed_objects() {
  std::vector<std::uintptr_t> addresses;
  for (const auto& object : py::list(gc().objects())) {
    addresses.push_back(address_of(object));
  }
  std::sort(addresses.begin(), addresses.end());
  return addresses;
}

// Of what the collector tracks, those that it is not to, for as long as this lives.
class Untracked {
 public:
  Untracked() = default;
  Untracked(const Untracked&) = delete;
  Untracked& operator=(const Untracked&) = delete;
  // An object that is freed untracked takes the process with it, so they are tracked again on every way out.
  ~Untracked() {
    for (auto* object : objects_) PyObject_GC_Track(object);
  }

  void add(PyObject* object) {
    objects_.push_back(object);
    PyObject_GC_UnTrack(object);
  }

 private:
  std::vector<PyObject*> objects_;
};

}  // namespace

FrozenObjects::FrozenObjects() {
  if (gc().freeze_count().cast<std::int64_t>() == 0) return;
  const auto thawed = thawed_objects();
  gc().unfreeze();
  const auto all = thawed_objects();
  std::set_difference(all.begin(), all.end(), thawed.begin(), thawed.end(), std::back_inserter(addresses_));
}

void FrozenObjects::freeze_again() const {
  if (addresses_.empty()) return;
  // They live as long as the list, which is longer than they are untracked.
  const py::list objects = gc().objects();
  // gc.freeze() takes all that are tracked: the others are not, for that moment.
  Untracked others;
  for (const auto& object : objects) {
    const bool is_one = std::binary_search(addresses_.begin(), addresses_.end(), address_of(object));
    if (!is_one && PyObject_GC_IsTracked(object.ptr()) != 0) others.add(object.ptr());
  }
  gc().freeze();
}

}  // namespace stepleak
