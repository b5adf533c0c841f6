// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "harness/api/check.hpp"
#include "harness/api/python_step.hpp"
#include "harness/api/result_files.hpp"
#include "harness/api/watch.hpp"
#include "harness/base/errors.hpp"
#include "harness/observe/flight_recorder.hpp"
#include "harness/probes/cuda/cuda_watch.hpp"
#include "harness/probes/fork_guard.hpp"
#include "harness/probes/python/frame_locals.hpp"
#include "harness/probes/tensor_references.hpp"
#include "harness/report/console.hpp"
#include "harness/trace/run_record_json.hpp"
#include "harness/trace/serialise.hpp"

namespace py = pybind11;

namespace {

// Errors of the harness as Python's own: wrong use is a ValueError.
template <typename Action>
auto with_python_errors(const Action& action) {
  try {
    return action();
  } catch (const stepleak::Error& error) {
    const auto text =
        error.remedy().empty() ? std::string(error.what()) : error.what() + std::string("; ") + error.remedy();
    if (error.code() == stepleak::ExitCode::wrong_use) throw py::value_error(text);
    throw std::runtime_error(text);
  }
}

// JSON, the console's report, whether the user interrupted the run, and which files were not written. Without the GIL
// up to the tuple: a page takes a while.
py::tuple to_python(const stepleak::Result& result, const stepleak::RunRecord& record,
                    const stepleak::ResultFiles& files) {
  const auto unwritten = [&] {
    const py::gil_scoped_release without_gil;
    return stepleak::write(files, result, record);
  }();
  return py::make_tuple(stepleak::to_json(result), stepleak::to_console(result), result.is_interrupted, unwritten);
}

template <typename Field>
void read_option(const py::dict& given, const char* name, Field& field) {
  if (given.contains(name)) field = given[name].cast<Field>();
}

stepleak::Options options_of(const py::dict& given) {
  stepleak::Options options;
  const auto read = [&](const char* name, auto& field) { read_option(given, name, field); };
  read("target", options.target);
  read("device", options.device);
  read("effort", options.effort);
  read("steps", options.steps);
  read("period", options.period);
  read("budget", options.budget_seconds);
  read("seed", options.seed);
  read("min_steps", options.minimum_steps);
  read("watched_steps", options.watched_steps);
  read("threads", options.threads);
  read("with_cuda_objects", options.with_cuda_objects);
  read("peer_timeout", options.peer_timeout_seconds);
  return options;
}

stepleak::ResultFiles files_of(const py::dict& given) {
  stepleak::ResultFiles files;
  read_option(given, "json", files.json);
  read_option(given, "html", files.html);
  read_option(given, "trace", files.trace);
  return files;
}

// What the caller has named wrongly: a file that cannot be written, a device that is not there.
void check_named(const stepleak::Options& options, const stepleak::ResultFiles& files) {
  try {
    stepleak::check_outputs(files);
    (void)stepleak::device_of(options.device);
  } catch (const stepleak::Error& error) {
    throw stepleak::usage_error(error.what(), error.remedy());
  }
}

py::tuple check(const py::object& step, bool takes_index, const py::dict& given) {
  const auto options = options_of(given);
  const auto files = files_of(given);
  const auto judged = with_python_errors([&] {
    const py::gil_scoped_release without_gil;
    check_named(options, files);
    return stepleak::check_python(step.ptr(), takes_index, options);
  });
  return to_python(judged.result, judged.record, files);
}

void observe(const py::object& step, const std::string& device, std::int64_t screen_steps, std::int64_t record_steps,
             std::int64_t record_stride) {
  const py::gil_scoped_release without_gil;
  stepleak::observe_python(step.ptr(), false, {screen_steps, record_steps, record_stride}, {.device = device});
}

/// A watch with what the interpreter adds; what it holds is dropped without the GIL, as probes take it themselves.
class PythonWatch {
 public:
  PythonWatch(const py::dict& given, int memory_file) : files_(files_of(given)) {
    const auto options = options_of(given);
    with_python_errors([&] {
      const py::gil_scoped_release without_gil;
      check_named(options, files_);
      if (memory_file >= 0) recorder_ = std::make_unique<stepleak::FlightRecorder>(memory_file);
      python_ = std::make_unique<stepleak::PythonSurroundings>(nullptr, recorder_.get(), options,
                                                               stepleak::AfterRun::goes_on, stepleak::LoopOwner::user);
      watch_ = std::make_unique<stepleak::Watch>(options, python_->get());
    });
  }
  PythonWatch(const PythonWatch&) = delete;
  PythonWatch& operator=(const PythonWatch&) = delete;
  ~PythonWatch() {
    const py::gil_scoped_release without_gil;
    watch_.reset();
    python_.reset();
    recorder_.reset();
  }

  bool step() {
    const py::gil_scoped_release without_gil;
    return watch_->step();
  }
  void fail(const std::string& what) {
    const py::gil_scoped_release without_gil;
    watch_->fail(what);
  }
  void mark(const std::string& name) {
    with_python_errors([&] {
      const auto type = stepleak::parse_mark_type(name);
      if (!type) throw stepleak::usage_error("a watch has no mark '" + name + "'", "there are epoch and evaluation");
      watch_->mark(*type);
    });
  }
  [[nodiscard]] bool is_decided() const { return watch_->is_decided(); }
  py::tuple finish() {
    const auto result = with_python_errors([&] {
      const py::gil_scoped_release without_gil;
      return python_->joined(watch_->finish());
    });
    return to_python(result, watch_->record(), files_);
  }

  /// As a trace file has it: one line.
  std::string record() {
    return with_python_errors([&] {
      const py::gil_scoped_release without_gil;
      return stepleak::to_json(watch_->record());
    });
  }

 private:
  stepleak::ResultFiles files_;
  std::unique_ptr<stepleak::FlightRecorder> recorder_;  // outlives what stands below
  std::unique_ptr<stepleak::PythonSurroundings> python_;
  std::unique_ptr<stepleak::Watch> watch_;
};

py::dict attachments() {
  const auto graph = stepleak::graph_attachments();
  py::dict attached;
  attached["is_observing"] = stepleak::is_observing_here();
  attached["has_operator_callback"] = graph.has_callback;
  attached["tensor_references"] = graph.tensor_references;
  attached["holds_cupti"] = stepleak::holds_cupti();
  return attached;
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  module.doc() = "The C++ core of stepleak; use the package's own functions.";
  module.def("check", &check);
  module.attr("frame_locals") =
      py::reinterpret_steal<py::object>(static_cast<PyObject*>(stepleak::frame_locals_reader()));
  module.def("observe", &observe, py::arg("step"), py::arg("device"), py::kw_only(), py::arg("screen_steps") = 0,
             py::arg("record_steps") = 0, py::arg("record_stride") = 1,
             "Repeats a step in the screen and the record pass, judging nothing: for benchmarks.");
  py::class_<PythonWatch>(module, "Watch")
      .def(py::init<const py::dict&, int>(), py::arg("options"), py::kw_only(), py::arg("memory_file") = -1)
      .def("step", &PythonWatch::step)
      .def("mark", &PythonWatch::mark)
      .def("fail", &PythonWatch::fail)
      .def_property_readonly("is_decided", &PythonWatch::is_decided)
      .def("record", &PythonWatch::record)
      .def("finish", &PythonWatch::finish);
  module.def("attachments", &attachments, "What of ours is attached to this process at this moment.");
}
