// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// The command line as a program of its own, which embeds an interpreter where a step is observed.

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/errors.hpp"
#include "harness/cli/command_line.hpp"
#include "harness/cli/layout.hpp"

namespace {

// Global: Python's extension modules look for the interpreter's symbols among those of the program.
std::filesystem::path load_interpreter() {
  if (::dlopen(STEPLEAK_LIBPYTHON, RTLD_NOW | RTLD_GLOBAL) != nullptr) return {};
  throw stepleak::failure_error(fmt::format("Python cannot be embedded: {}", ::dlerror()), stepleak::layout().repair);
}

// As stepleak/__main__.py sets them for an interpreter that is there already, and why. Gives those that were not set.
std::vector<std::string> set_for_import() {
  std::vector<std::string> names;
  for (const auto* name : {"OPENBLAS_NUM_THREADS", "PYTORCH_NVML_BASED_CUDA_CHECK"}) {
    if (std::getenv(name) != nullptr) continue;
    ::setenv(name, "1", 1);
    names.emplace_back(name);
  }
  return names;
}

}  // namespace

int main(int argc, char** argv) try {
  auto layout = stepleak::own_layout();
  layout.before_observing = load_interpreter;
  layout.set_for_import = set_for_import();
  stepleak::set_layout(std::move(layout));
  return stepleak::command_line(argc, argv);
} catch (const std::exception& error) {
  // Before the command line could say so itself: there was no memory.
  std::fprintf(stderr, "stepleak: %s\n", error.what());
  return static_cast<int>(stepleak::ExitCode::failure);
}
