// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/python/python_stacks.hpp"

#include <pybind11/pybind11.h>

namespace py = pybind11;

namespace stepleak {
namespace {

class EmptyInductor {
 public:
  EmptyInductor() : torch_(py::module_::import("torch").attr("__dict__")) {
    if (torch_.contains(kName)) return;
    const auto holder = py::module_::import("types").attr("SimpleNamespace");
    const py::cpp_function no_frames([](const py::args& /*file_and_line*/) { return py::none(); });
    const auto cache = holder(py::arg("stack_frames_for_code") = no_frames);
    ours_ = holder(py::arg("codecache") = holder(py::arg("PyCodeCache") = cache));
    torch_[kName] = ours_;
  }
  EmptyInductor(const EmptyInductor&) = delete;
  EmptyInductor& operator=(const EmptyInductor&) = delete;
  ~EmptyInductor() {
    // Another thread may have imported the real one.
    if (ours_ && torch_.contains(kName) && py::object(torch_[kName]).is(ours_)) torch_.attr("pop")(kName, py::none());
  }

 private:
  static constexpr const char* kName = "_inductor";

  py::dict torch_;
  py::object ours_;
};

}  // namespace

std::vector<RawStack> PythonStacks::take_stacks() {
  const py::gil_scoped_acquire gil;
  const EmptyInductor nothing;
  return captured_.take_stacks();
}

}  // namespace stepleak
