// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/api/python_step.hpp"

#include <pybind11/embed.h>
#include <pybind11/stl.h>

#include <map>
#include <string>
#include <vector>

#include "harness/api/python_peers.hpp"
#include "harness/probes/python/python_collector.hpp"
#include "harness/probes/python/python_holder_search.hpp"
#include "harness/probes/python/python_probe.hpp"

namespace py = pybind11;

namespace stepleak {
namespace {

StepFailure step_failure(py::error_already_set& error) {
  const bool is_exit = error.matches(PyExc_SystemExit);
  return StepFailure("the step raised " + exception_text(&error),
                     is_exit ? "the step must return, not end the process" : "");
}

// Where the interpreter keeps what is not the user's, and where the step's own package is installed.
CodeFolders code_folders(void* callable) {
  const py::gil_scoped_acquire gil;
  const auto folders = py::module_::import("stepleak._folders");
  const auto step =
      callable == nullptr ? py::none() : py::reinterpret_borrow<py::object>(static_cast<PyObject*>(callable));
  return {.runtime = folders.attr("runtime_folders")().cast<std::vector<std::string>>(),
          .user = folders.attr("user_folders")(step).cast<std::vector<std::string>>()};
}

std::map<std::string, std::string> python_conditions() {
  const py::gil_scoped_acquire gil;
  return py::module_::import("stepleak._load").attr("conditions")().cast<std::map<std::string, std::string>>();
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

PythonSurroundings::PythonSurroundings(void* root, FlightRecorder* recorder, double peer_timeout_seconds)
    // Only a worker has a recorder, and it ends after its one run.
    : collector_(std::make_unique<PythonCollector>(recorder == nullptr ? PythonCollector::Undo::restore
                                                                       : PythonCollector::Undo::leave)),
      objects_(std::make_unique<PythonProbe>(*collector_)),
      holders_(std::make_unique<PythonHolderSearch>(root, *collector_)),
      peers_(PythonPeers::find(peer_timeout_seconds)),
      recorder_(recorder),
      folders_(code_folders(root)) {}

PythonSurroundings::~PythonSurroundings() = default;

Surroundings PythonSurroundings::get() const {
  return {.probes = {objects_.get()},
          .collector = collector_.get(),
          .holder_searches = {holders_.get()},
          .recorder = recorder_,
          .folders = folders_,
          .peers = peers_.get(),
          .conditions = python_conditions()};
}

Result PythonSurroundings::joined(Result own) const { return peers_ == nullptr ? own : peers_->joined(std::move(own)); }

RunRecord record_python_run(void* callable, bool takes_index, const Options& options, FlightRecorder* recorder) {
  const PythonSurroundings python(callable, recorder, options.peer_timeout_seconds);
  return record_run(python_step(callable, takes_index), options, python.get());
}

Result check_python(void* callable, bool takes_index, const Options& options) {
  const PythonSurroundings python(callable, nullptr, options.peer_timeout_seconds);
  return python.joined(check(python_step(callable, takes_index), options, python.get()));
}

Trace observe_python(void* callable, bool takes_index, const Passes& passes, const Options& options) {
  const PythonSurroundings python(callable, nullptr, options.peer_timeout_seconds);
  return observe(python_step(callable, takes_index), passes, options, python.get());
}

}  // namespace stepleak
