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

using Types = std::vector<PyTypeObject*>;  // their modules have them, too

Types types_of(const py::object& types) {
  Types found;
  for (const auto type : types) found.push_back(reinterpret_cast<PyTypeObject*>(type.ptr()));
  return found;
}

bool is_one_of(const Types& types, PyObject* object) {
  return std::ranges::find(types, Py_TYPE(object)) != types.end();
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
  Types managers = types_of(py::module_::import("stepleak._awaiting").attr("MANAGERS"));
  py::module_ uncalled = py::module_::import("stepleak._uncalled");
  Types uncalled_types = types_of(uncalled.attr("TYPES"));
  std::int64_t steps = 0;
  std::int64_t uncalled_steps = 0;
  std::string note;

  // Asked after each step, so without a call of Python: coroutines, other awaitables, generators and what hides one.
  [[nodiscard]] bool may_be_unfinished(PyObject* returned) const {
    const auto* async = Py_TYPE(returned)->tp_as_async;
    return (async != nullptr && async->am_await != nullptr) || PyGen_CheckExact(returned) ||
           PyAsyncGen_CheckExact(returned) || is_one_of(managers, returned);
  }

  // What every step returns has the type of what the first one did.
  void note_first(PyObject* returned) {
    const py::handle type(reinterpret_cast<PyObject*>(Py_TYPE(returned)));
    if (uncalled.attr("is_entered")(type).cast<bool>()) uncalled_types.push_back(Py_TYPE(returned));
    if (is_one_of(uncalled_types, returned)) note = uncalled.attr("note_on")(py::handle(returned)).cast<std::string>();
  }
};

PythonReturns::PythonReturns() : own_(std::make_unique<Parts>()) {}

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
  auto object = py::reinterpret_borrow<py::object>(static_cast<PyObject*>(returned));
  if (own_->may_be_unfinished(object.ptr())) {
    try {
      object = own_->awaiting.attr("finish")(object);
    } catch (py::error_already_set& error) {
      if (const auto wrong_use = wrong_use_of(&error)) throw *wrong_use;
      throw;
    }
  }
  if (++own_->steps == 1) own_->note_first(object.ptr());
  if (is_one_of(own_->uncalled_types, object.ptr())) ++own_->uncalled_steps;
}

std::string PythonReturns::note(const Trace& trace) const {
  return own_->uncalled_steps == own_->steps && !has_made_tensors(trace) ? own_->note : "";
}

}  // namespace stepleak
