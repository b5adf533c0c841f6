// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include <pybind11/pybind11.h>

#include "harness/api/python_step.hpp"
#include "harness/base/errors.hpp"
#include "harness/report/console.hpp"
#include "harness/trace/serialise.hpp"

namespace py = pybind11;

namespace {

py::tuple check(const py::object& step, bool takes_index, const std::string& target, const std::string& device,
                const std::string& effort, std::int64_t steps, std::int64_t period, std::uint64_t seed,
                bool with_cuda_objects) {
  const stepleak::Options options{.target = target,
                                  .device = device,
                                  .effort = effort,
                                  .steps = steps,
                                  .period = period,
                                  .seed = seed,
                                  .with_cuda_objects = with_cuda_objects};
  std::string json;
  std::string report;
  try {
    const py::gil_scoped_release without_gil;
    const auto result = stepleak::check_python(step.ptr(), takes_index, options);
    json = stepleak::to_json(result);
    report = stepleak::to_console(result);
  } catch (const stepleak::Interrupted&) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw py::error_already_set();
  } catch (const stepleak::Error& error) {
    const auto text =
        error.remedy().empty() ? std::string(error.what()) : error.what() + std::string("; ") + error.remedy();
    if (error.code() == stepleak::ExitCode::wrong_use) throw py::value_error(text);
    throw std::runtime_error(text);
  }
  return py::make_tuple(json, report);
}

void observe(const py::object& step, const std::string& device, std::int64_t screen_steps, std::int64_t explain_steps,
             std::int64_t explain_stride) {
  const py::gil_scoped_release without_gil;
  stepleak::observe_python(step.ptr(), false, {screen_steps, explain_steps, explain_stride}, {.device = device});
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  module.doc() = "The C++ core of stepleak; use the package's own functions.";
  module.def("check", &check);
  module.def("observe", &observe, py::arg("step"), py::arg("device"), py::kw_only(), py::arg("screen_steps") = 0,
             py::arg("explain_steps") = 0, py::arg("explain_stride") = 1,
             "Repeats a step in the screen and the explain pass, judging nothing: for benchmarks.");
}
