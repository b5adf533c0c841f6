// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/python/name_bytes.hpp"

#include <pybind11/pybind11.h>

namespace py = pybind11;

namespace stepleak {

std::string name_bytes(void* text) {
  const auto encoded = [&](const char* errors) {
    return py::reinterpret_steal<py::bytes>(PyUnicode_AsEncodedString(static_cast<PyObject*>(text), "utf-8", errors));
  };
  if (const auto bytes = encoded("surrogateescape")) return bytes;
  PyErr_Clear();
  return encoded("backslashreplace");
}

}  // namespace stepleak
