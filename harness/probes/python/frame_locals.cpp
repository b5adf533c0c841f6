// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/python/frame_locals.hpp"

#include <pybind11/pybind11.h>

#if PY_VERSION_HEX < 0x030C0000
// PyFrame_GetVar() came with 3.12; before, a frame's variables stand in a structure of the interpreter's own.
#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#endif

namespace py = pybind11;

namespace stepleak {
namespace {

py::list frame_locals(const py::object& item) {
  py::list found;
  if (!PyFrame_Check(item.ptr())) throw py::type_error("a frame is needed");
  auto* frame = reinterpret_cast<PyFrameObject*>(item.ptr());
  const auto code = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  auto* const raw_code = reinterpret_cast<PyCodeObject*>(code.ptr());
  // A module's variables are its globals.
  if ((raw_code->co_flags & CO_OPTIMIZED) == 0) return found;
#if PY_VERSION_HEX < 0x030C0000
  const py::tuple names = py::reinterpret_borrow<py::tuple>(raw_code->co_localsplusnames);
  for (int i = 0; i < raw_code->co_nlocalsplus; ++i) {
    PyObject* value = frame->f_frame->localsplus[i];
    if (value != nullptr && PyCell_Check(value)) value = PyCell_GET(value);
    if (value != nullptr) found.append(py::make_tuple(names[static_cast<std::size_t>(i)], py::handle(value)));
  }
#else
  for (const char* attribute : {"co_varnames", "co_cellvars", "co_freevars"}) {
    for (const auto& name : py::tuple(code.attr(attribute))) {
      const auto value = py::reinterpret_steal<py::object>(PyFrame_GetVar(frame, name.ptr()));
      // An error means that the variable has no value yet, or no more.
      if (value) {
        found.append(py::make_tuple(name, value));
      } else {
        PyErr_Clear();
      }
    }
  }
#endif
  return found;
}

}  // namespace

void* frame_locals_reader() { return py::cpp_function(&frame_locals).release().ptr(); }

}  // namespace stepleak
