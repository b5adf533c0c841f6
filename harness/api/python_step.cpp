// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/api/python_step.hpp"

#include <pybind11/embed.h>

#include "harness/probes/python/python_probe.hpp"

namespace py = pybind11;

namespace stepleak {
namespace {

StepFailure step_failure(py::error_already_set& error) {
  const bool is_exit = error.matches(PyExc_SystemExit);
  return StepFailure("the step raised " + exception_text(&error),
                     is_exit ? "the step must return, not end the process" : "");
}

}  // namespace

std::string exception_text(void* error) {
  const auto& raised = *static_cast<py::error_already_set*>(error);
  // Python 3.11 keeps the traceback beside the value; pybind11 takes it as it comes.
  if (raised.trace()) PyException_SetTraceback(raised.value().ptr(), raised.trace().ptr());
  return py::module_::import("stepleak._load").attr("format_exception")(raised.value()).cast<std::string>();
}

Step python_step(void* callable, bool takes_index) {
  const py::gil_scoped_acquire gil;
  // Freed under the GIL, also where the last copy of the step dies without it.
  const std::shared_ptr<py::object> step(
      new py::object(py::reinterpret_borrow<py::object>(static_cast<PyObject*>(callable))), [](py::object* object) {
        const py::gil_scoped_acquire to_drop;
        delete object;
      });
  return [step, takes_index](std::int64_t index) {
    const py::gil_scoped_acquire to_call;
    try {
      if (takes_index) {
        (*step)(index);
      } else {
        (*step)();
      }
    } catch (py::error_already_set& error) {
      if (error.matches(PyExc_KeyboardInterrupt)) throw Interrupted();
      throw step_failure(error);
    }
  };
}

Trace observe_python(void* callable, bool takes_index, const Passes& passes, const Options& options) {
  PythonProbe probe;
  PythonCollector collector;
  auto trace =
      observe(python_step(callable, takes_index), passes, options, {.probes = {&probe}, .collector = &collector});
  collector.unfreeze();
  return trace;
}

Result check_python(void* callable, bool takes_index, const Options& options, FlightRecorder* recorder) {
  PythonProbe probe;
  PythonCollector collector;
  PythonHolderSearch holders(callable);
  auto result =
      check(python_step(callable, takes_index), options,
            {.probes = {&probe}, .collector = &collector, .holder_searches = {&holders}, .recorder = recorder});
  collector.unfreeze();
  return result;
}

}  // namespace stepleak
