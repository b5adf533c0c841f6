// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/api/python_returns.hpp"

#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "harness/api/python_step.hpp"

namespace py = pybind11;

namespace stepleak {
namespace {

// Asked after each step, so without a call of Python: coroutines, other awaitables and generators.
bool may_be_unfinished(PyObject* returned) {
  const auto* async = Py_TYPE(returned)->tp_as_async;
  return (async != nullptr && async->am_await != nullptr) || PyGen_CheckExact(returned) ||
         PyAsyncGen_CheckExact(returned);
}

// What an operator makes or frees within a step shows in its peak, also where none of it stays.
bool has_made_tensors(const Trace& trace) {
  return std::ranges::any_of(trace.devices(), [&](Device device) {
    return trace.series({Counter::peak_bytes, device}) != trace.series({Counter::live_bytes, device});
  });
}

}  // namespace

struct PythonReturns::Parts {
  // Imported before a step that may forbid imports.
  py::object awaiting = py::module_::import("stepleak._awaiting").attr("Awaiting")();
  py::module_ uncalled = py::module_::import("stepleak._uncalled");
  std::vector<PyTypeObject*> uncalled_types;  // the module has them, too
  std::int64_t steps = 0;
  std::int64_t uncalled_steps = 0;
  std::string note;
};

PythonReturns::PythonReturns() : own_(std::make_unique<Parts>()) {
  for (const auto type : own_->uncalled.attr("TYPES")) {
    own_->uncalled_types.push_back(reinterpret_cast<PyTypeObject*>(type.ptr()));
  }
}

PythonReturns::~PythonReturns() {
  const py::gil_scoped_acquire gil;
  try {
    own_->awaiting.attr("close")();
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("closing the event loop of a step");
  }
  own_.reset();
}

void PythonReturns::take(void* returned) {
  auto* object = static_cast<PyObject*>(returned);
  ++own_->steps;
  if (std::ranges::find(own_->uncalled_types, Py_TYPE(object)) != own_->uncalled_types.end()) {
    ++own_->uncalled_steps;
    if (own_->steps == 1) own_->note = own_->uncalled.attr("note_on")(py::handle(object)).cast<std::string>();
  } else if (may_be_unfinished(object)) {
    try {
      own_->awaiting.attr("finish")(py::handle(object));
    } catch (py::error_already_set& error) {
      if (const auto wrong_use = wrong_use_of(&error)) throw *wrong_use;
      throw;
    }
  }
}

std::string PythonReturns::note(const Trace& trace) const {
  return own_->uncalled_steps == own_->steps && !has_made_tensors(trace) ? own_->note : "";
}

}  // namespace stepleak
