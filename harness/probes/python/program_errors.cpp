// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/python/program_errors.hpp"

#include <pybind11/pybind11.h>

namespace py = pybind11;

namespace stepleak {

void discard(void* error, const char* doing) {
  auto& raised = *static_cast<py::error_already_set*>(error);
  try {
    if (raised.trace()) PyException_SetTraceback(raised.value().ptr(), raised.trace().ptr());
    if (py::module_::import("stepleak._signal_errors").attr("keep")(raised.value()).cast<bool>()) return;
  } catch (py::error_already_set& another) {
    another.discard_as_unraisable(doing);
  }
  raised.discard_as_unraisable(doing);
}

}  // namespace stepleak
