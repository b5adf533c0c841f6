// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/cli/observing/temporary_folders.hpp"

#include <pybind11/pybind11.h>

#include <cstring>
#include <string>
#include <utility>

namespace py = pybind11;

namespace stepleak {
namespace {

// Python 3.12 has TemporaryDirectory(delete=False).
bool is_kept(const py::object& frame) {
  const auto variables = py::dict(frame.attr("f_locals"));
  return variables.contains("delete") && !py::bool_(variables["delete"]);
}

// Whether who called tempfile.mkdtemp(), whose frame is the current one, removes the folder at the interpreter's exit.
bool is_removed_at_exit() {
  auto* mkdtemp = PyEval_GetFrame();
  if (mkdtemp == nullptr) return false;
  const auto caller = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetBack(mkdtemp)));
  if (!caller) return false;
  const auto code = caller.attr("f_code");
  const auto file = code.attr("co_filename").cast<std::string>();
  const auto function = code.attr("co_name").cast<std::string>();
  if (file.ends_with("/multiprocessing/util.py")) return function == "get_temp_dir";
  return file.ends_with("/tempfile.py") && function == "__init__" && !is_kept(caller);
}

int hear(const char* event, PyObject* arguments, void* on_folder) {
  if (std::strcmp(event, "tempfile.mkdtemp") != 0) return 0;
  try {
    const auto folder = py::reinterpret_borrow<py::tuple>(arguments)[0];
    if (py::isinstance<py::str>(folder) && is_removed_at_exit()) {
      (*static_cast<OnTemporaryFolder*>(on_folder))(py::cast<std::string>(folder));
    }
  } catch (const std::exception&) {
    // A folder more is left where the worker is killed; the step goes on.
    PyErr_Clear();
  }
  return 0;
}

}  // namespace

void watch_temporary_folders(OnTemporaryFolder on_folder) {
  // Python asks the hook up to its end.
  if (PySys_AddAuditHook(hear, new OnTemporaryFolder(std::move(on_folder))) != 0) PyErr_Clear();
}

}  // namespace stepleak
