// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/api/python_step.hpp"

#include <pybind11/embed.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "harness/api/python_peers.hpp"
#include "harness/api/python_returns.hpp"
#include "harness/api/result_of.hpp"
#include "harness/probes/python/program_errors.hpp"
#include "harness/probes/python/python_collector.hpp"
#include "harness/probes/python/python_holder_search.hpp"
#include "harness/probes/python/python_probe.hpp"
#include "harness/probes/python/python_stacks.hpp"
#include "harness/probes/torch/cpu_allocator_probe.hpp"

namespace py = pybind11;

namespace stepleak {
namespace {

StepFailure step_failure(py::error_already_set& error) {
  const bool is_exit = error.matches(PyExc_SystemExit);
  return StepFailure("the step raised " + exception_text(&error),
                     is_exit ? "the step must return, not end the process" : "");
}

/// A Python callable as a step: takes the GIL for each call, and turns what Python raises into a StepFailure with the
/// user's traceback. Made and dropped without the GIL.
class PythonStep {
 public:
  /// `callable` is a `PyObject*`; `takes_index`: it wants the step's number.
  PythonStep(void* callable, bool takes_index) : takes_index_(takes_index) {
    const py::gil_scoped_acquire gil;
    callable_ = py::reinterpret_borrow<py::object>(static_cast<PyObject*>(callable));
    returns_ = std::make_unique<PythonReturns>();
    const auto errors = py::module_::import("stepleak._signal_errors");
    held_errors_ = errors.attr("held_errors");
    raise_held_ = errors.attr("raise_held");
  }
  PythonStep(const PythonStep&) = delete;
  PythonStep& operator=(const PythonStep&) = delete;
  ~PythonStep() {
    const py::gil_scoped_acquire gil;
    returns_.reset();
    callable_ = {};
    held_errors_ = {};
    raise_held_ = {};
  }

  /// Lives no longer than this.
  [[nodiscard]] Step get() {
    return [this](std::int64_t index) { run(index); };
  }

  /// What of the steps could not be judged.
  void add_note(RunRecord& record) const {
    if (auto note = returns_->note(record.trace); !note.empty()) record.notes.push_back(std::move(note));
  }

 private:
  void run(std::int64_t index) {
    const py::gil_scoped_acquire to_call;
    try {
      // What a handler raised in our own code is the step's, as if the signal had come now.
      if (PyList_GET_SIZE(held_errors_.ptr()) > 0) raise_held_();
      returns_->take((takes_index_ ? callable_(index) : callable_()).ptr());
    } catch (py::error_already_set& error) {
      if (error.matches(PyExc_KeyboardInterrupt)) throw Interrupted();
      throw step_failure(error);
    }
  }

  bool takes_index_;
  py::object callable_;
  std::unique_ptr<PythonReturns> returns_;
  py::object held_errors_;
  py::object raise_held_;
};

// A folder's name need not be UTF-8.
std::vector<std::string> folders_from(const py::object& texts) {
  const auto encode = py::module_::import("os").attr("fsencode");
  std::vector<std::string> folders;
  for (const auto& text : texts) folders.push_back(encode(text).cast<std::string>());
  return folders;
}

// Where the interpreter keeps what is not the user's, and where the step's own package is installed.
CodeFolders code_folders(void* callable) {
  const py::gil_scoped_acquire gil;
  const auto folders = py::module_::import("stepleak._folders");
  const auto step =
      callable == nullptr ? py::none() : py::reinterpret_borrow<py::object>(static_cast<PyObject*>(callable));
  return {.runtime = folders_from(folders.attr("runtime_folders")()),
          .installed = folders_from(folders.attr("installed_folders")()),
          .user = folders_from(folders.attr("user_folders")(step))};
}

std::map<std::string, std::string> python_conditions() {
  const py::gil_scoped_acquire gil;
  return py::module_::import("stepleak._load").attr("conditions")().cast<std::map<std::string, std::string>>();
}

// Found before a step that may forbid imports, and called after it.
std::shared_ptr<py::object> function_of(const char* module, const char* name) {
  const py::gil_scoped_acquire gil;
  return {new py::object(py::module_::import(module).attr(name)), [](py::object* held) {
            const py::gil_scoped_acquire to_drop;
            delete held;
          }};
}

std::function<std::string()> unseen_device() {
  return [function = function_of("stepleak._load", "unseen_device")] { return (*function)().cast<std::string>(); };
}

// As of a step that breaks Python itself: what is declared is no more known then.
std::vector<DeclaredBound> declared_bounds(const py::object& told) {
  using Row = std::tuple<std::string, std::int64_t, std::int64_t, std::string, int, std::string>;
  const py::gil_scoped_acquire gil;
  std::vector<DeclaredBound> declared;
  try {
    const py::object rows = told();
    for (auto& [type, length, bound, file, line, text] : rows.cast<std::vector<Row>>()) {
      const auto kind = length > bound ? StructureType::exceeded : StructureType::declared;
      declared.push_back({type, length, {.type = kind, .bound = bound, .file = file, .line = line, .text = text}});
    }
  } catch (py::error_already_set& error) {
    discard(&error, "looking at declared bounds");
  }
  return declared;
}

// What the set-up made may die in a step.
void adopt_tensors() {
  record_cpu_tensors();
  const py::gil_scoped_acquire gil;
  const auto module = py::module_::import("stepleak._tensors");
  const py::list tensors = module.attr("all_tensors")();
  std::vector<std::uintptr_t> impls;
  for (const auto& tensor : tensors) impls.push_back(module.attr("address_of")(tensor).cast<std::uintptr_t>());
  adopt_cpu_tensors(impls);
}

}  // namespace

std::string exception_text(void* error) {
  const auto& raised = *static_cast<py::error_already_set*>(error);
  // Python 3.11 keeps the traceback beside the value; pybind11 takes it as it comes.
  if (raised.trace()) PyException_SetTraceback(raised.value().ptr(), raised.trace().ptr());
  return py::module_::import("stepleak._failure").attr("format_exception")(raised.value()).cast<std::string>();
}

std::optional<Error> wrong_use_of(void* error) {
  const auto& raised = *static_cast<py::error_already_set*>(error);
  if (!raised.matches(py::module_::import("stepleak._load").attr("UsageError"))) return std::nullopt;
  return usage_error(raised.value().attr("what").cast<std::string>(),
                     raised.value().attr("remedy").cast<std::string>());
}

PythonSurroundings::PythonSurroundings(void* root, FlightRecorder* recorder, const Options& options, AfterRun after,
                                       LoopOwner owner)
    : collector_(std::make_unique<PythonCollector>(
          after == AfterRun::ends ? PythonCollector::Undo::leave : PythonCollector::Undo::restore,
          owner == LoopOwner::user ? PythonCollector::Pace::sampled : PythonCollector::Pace::every_boundary)),
      objects_(std::make_unique<PythonProbe>(*collector_)),
      holders_(std::make_unique<PythonHolderSearch>(root, *collector_, options.ends_at)),
      peers_(PythonPeers::find(options.peer_timeout_seconds)),
      recorder_(recorder),
      folders_(code_folders(root)),
      unseen_device_(unseen_device()),
      owner_(owner) {
  adopt_tensors();
}

PythonSurroundings::~PythonSurroundings() = default;

Surroundings PythonSurroundings::get() const {
  auto conditions = python_conditions();
  if (owner_ == LoopOwner::user) {
    conditions["garbage collections"] = PythonCollector::sampled_pace();
  }
  return {.probes = {objects_.get()},
          .collector = collector_.get(),
          .holder_searches = {holders_.get()},
          .stacks_around = [](StackSource& captured) { return std::make_unique<PythonStacks>(captured); },
          .recorder = recorder_,
          .folders = folders_,
          .peers = peers_.get(),
          .conditions = std::move(conditions),
          .declared = [told = function_of("stepleak._declared", "told")] { return declared_bounds(*told); }};
}

Result PythonSurroundings::joined(Result own) const {
  for (auto& note : notes()) own.notes.push_back(std::move(note));
  return peers_ == nullptr ? own : peers_->joined(std::move(own));
}

std::vector<std::string> PythonSurroundings::notes() const {
  const py::gil_scoped_acquire gil;
  try {
    const auto note = unseen_device_();
    return note.empty() ? std::vector<std::string>() : std::vector{note};
  } catch (py::error_already_set& error) {
    // A step that breaks Python itself costs its notes, and not its result.
    discard(&error, "looking at torch's default device");
    return {};
  }
}

RunRecord record_python_run(void* callable, bool takes_index, const Options& options, FlightRecorder* recorder) {
  // Only a worker has a recorder, and it ends after its one run.
  const PythonSurroundings python(callable, recorder, options,
                                  recorder == nullptr ? AfterRun::goes_on : AfterRun::ends);
  PythonStep step(callable, takes_index);
  auto record = record_run(step.get(), options, python.get());
  step.add_note(record);
  for (auto& note : python.notes()) record.notes.push_back(std::move(note));
  return record;
}

Judged check_python(void* callable, bool takes_index, const Options& options) {
  const PythonSurroundings python(callable, nullptr, options);
  PythonStep step(callable, takes_index);
  auto record = record_run(step.get(), options, python.get());
  step.add_note(record);
  auto result = python.joined(result_of(record));
  return {std::move(record), std::move(result)};
}

Trace observe_python(void* callable, bool takes_index, const Passes& passes, const Options& options) {
  const PythonSurroundings python(callable, nullptr, options);
  PythonStep step(callable, takes_index);
  return observe(step.get(), passes, options, python.get());
}

}  // namespace stepleak
