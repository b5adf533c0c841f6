// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// The command line in the user's interpreter: what `stepleak` and `python -m stepleak` run. No shared libpython is
// needed, which many interpreters lack, and torch is the one that this interpreter imports.

#include <fmt/format.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/errors.hpp"
#include "harness/cli/command_line.hpp"
#include "harness/cli/layout.hpp"

namespace py = pybind11;

namespace {

// A server that was started anew has run nothing of the environment's: where the packages are, sitecustomize. A worker
// does so here.
bool is_bare() { return py::module_::import("sys").attr("flags").attr("no_site").cast<bool>(); }

// What faces torch is linked to its libraries by name: the interpreter's own copy must be there before.
std::filesystem::path import_torch() try {
  if (is_bare()) py::module_::import("site").attr("main")();
  return py::module_::import("stepleak._torch").attr("library")().cast<std::string>();
} catch (py::error_already_set& error) {
  const auto text = py::str(error.value()).cast<std::string>();
  if (error.matches(py::module_::import("stepleak._torch").attr("TorchError"))) {
    throw stepleak::failure_error(text, error.value().attr("remedy").cast<std::string>());
  }
  throw stepleak::failure_error(fmt::format("torch does not import: {}", text), "try: python -c 'import torch'");
}

// Called with the GIL, as the embedded interpreter is; the command line releases it around steps.
int main(std::vector<std::string> arguments, const std::string& python, std::vector<std::string> set_for_import) {
  auto layout = stepleak::own_layout();
  layout.python = python;
  layout.starts_in_workers = is_bare();
  layout.before_observing = import_torch;
  layout.set_for_import = std::move(set_for_import);
  stepleak::set_layout(std::move(layout));
  std::vector<char*> argv;
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  return stepleak::command_line(static_cast<int>(arguments.size()), argv.data());
}

}  // namespace

PYBIND11_MODULE(_cli, module) {
  module.doc() = "The command line; use `python -m stepleak`.";
  module.def("main", &main,
             "Arguments with the program's name first, the interpreter, and which variables were set for the import of "
             "torch; gives the exit code.");
}
