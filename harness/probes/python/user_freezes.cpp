// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/python/user_freezes.hpp"

#include <pybind11/pybind11.h>

#include "harness/probes/python/collector_functions.hpp"

namespace py = pybind11;

namespace stepleak {
namespace {

// Those of the oldest generation: of all that is not set apart.
std::int64_t full_collections_in_process() {
  const auto generations = py::list(gc().stats());
  return generations[generations.size() - 1]["collections"].cast<std::int64_t>();
}

bool has(PyObject* objects, const void* object) {
  // The young are last.
  for (auto i = PyList_GET_SIZE(objects); i-- > 0;) {
    if (PyList_GET_ITEM(objects, i) == object) return true;
  }
  return false;
}

}  // namespace

UserFreezes::~UserFreezes() {
  if (newborn_ == nullptr) return;
  const py::gil_scoped_acquire gil;
  Py_DECREF(static_cast<PyObject*>(newborn_));
}

void UserFreezes::before_collection() {
  has_collected_ = has_frozen_ && full_collections_in_process() > full_collections_;
}

void UserFreezes::after_collection(void* objects) {
  const bool has_frozen = newborn_ != nullptr && !has(static_cast<PyObject*>(objects), newborn_);
  // Before the first of them the user's collections were not counted.
  if (has_frozen_) ++(has_frozen && !has_collected_ ? with_ : without_);
  has_frozen_ = has_frozen_ || has_frozen;
  if (has_frozen_) full_collections_ = full_collections_in_process();
  if (has_frozen) begin_anew();
}

void UserFreezes::begin_anew() {
  const auto newborn = py::list();
  Py_XDECREF(static_cast<PyObject*>(newborn_));
  newborn_ = newborn.inc_ref().ptr();
}

}  // namespace stepleak
