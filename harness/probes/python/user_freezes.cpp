// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/python/user_freezes.hpp"

#include <pybind11/pybind11.h>

#include <algorithm>
#include <utility>

#include "harness/probes/python/collector_functions.hpp"

namespace py = pybind11;

namespace stepleak {
namespace {

bool has(PyObject* objects, const void* object) {
  // The young are last.
  for (auto i = PyList_GET_SIZE(objects); i-- > 0;) {
    if (PyList_GET_ITEM(objects, i) == object) return true;
  }
  return false;
}

}  // namespace

UserFreezes::~UserFreezes() {
  if (newborn_ == nullptr || Py_IsInitialized() == 0) return;
  const py::gil_scoped_acquire gil;
  Py_DECREF(static_cast<PyObject*>(newborn_));
}

void UserFreezes::before_collection() {
  if (!has_frozen_) return;
  const auto counted = collections_in_process();
  has_collected_ = counted.full > full_seen_;
  // What waited goes with the first of several.
  collections_ += counted.all > all_seen_ ? 1 : 0;
  allocations_ += py::tuple(gc().count())[0].cast<std::int64_t>();
  threshold_ = py::tuple(gc().threshold())[0].cast<std::int64_t>();
}

void UserFreezes::after_collection(void* objects) {
  const bool has_frozen = newborn_ != nullptr && !has(static_cast<PyObject*>(objects), newborn_);
  // Before the first of them the user's collections were not counted.
  if (has_frozen_) {
    ++since_newest_;
    if (has_frozen && !has_collected_) {
      ++freezes_;
      longest_gap_ = std::max(longest_gap_, std::exchange(since_newest_, 0));
    }
  }
  has_frozen_ = has_frozen_ || has_frozen;
  if (has_frozen_) {
    const auto counted = collections_in_process();
    full_seen_ = counted.full;
    all_seen_ = counted.all;
  }
  if (has_frozen) begin_anew();
}

void UserFreezes::begin_anew() {
  const auto newborn = py::list();
  Py_XDECREF(static_cast<PyObject*>(newborn_));
  newborn_ = newborn.inc_ref().ptr();
}

}  // namespace stepleak
