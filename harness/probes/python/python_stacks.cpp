// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/python/python_stacks.hpp"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/probes/python/name_bytes.hpp"
#include "harness/probes/python/program_errors.hpp"

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

// Code whose file has a name that is no UTF-8 has one that torch can read in its place.
class ReadableNames {
 public:
  explicit ReadableNames(const StackSource& captured) {
    captured.visit_code([this](void* code) { replace(static_cast<PyCodeObject*>(code)); });
  }
  ReadableNames(const ReadableNames&) = delete;
  ReadableNames& operator=(const ReadableNames&) = delete;
  ~ReadableNames() {
    for (auto& [code, name] : replaced_) std::swap(code->co_filename, name);
    for (const auto& [code, name] : replaced_) Py_DECREF(name);
  }

  void put_back(std::string& file) const {
    if (const auto found = bytes_of_.find(file); found != bytes_of_.end()) file = found->second;
  }

 private:
  void replace(PyCodeObject* code) {
    if (PyUnicode_AsUTF8(code->co_filename) != nullptr) return;
    PyErr_Clear();
    const auto name = "<name " + std::to_string(replaced_.size()) + " of stepleak>";
    auto* readable = PyUnicode_FromString(name.c_str());
    if (readable == nullptr) throw py::error_already_set();
    bytes_of_[name] = name_bytes(code->co_filename);
    replaced_.emplace_back(code, std::exchange(code->co_filename, readable));
  }

  std::vector<std::pair<PyCodeObject*, PyObject*>> replaced_;
  std::map<std::string, std::string> bytes_of_;
};

// Lines of what no disk has, as a notebook's cell or a module of an archive.
class AbsentLines {
 public:
  [[nodiscard]] std::string line_of(const std::string& file, int line) {
    const auto [entry, is_new] = files_.try_emplace(file);
    if (is_new) entry->second = lines_of(file);
    const auto& lines = entry->second;
    return line < 1 || static_cast<std::size_t>(line) > lines.size() ? "" : lines[static_cast<std::size_t>(line) - 1];
  }

 private:
  // A step that breaks Python itself costs the text, and not the place.
  static std::vector<std::string> lines_of(const std::string& file) {
    try {
      const auto lines = py::module_::import("stepleak._source_text").attr("absent_lines")(py::bytes(file));
      return lines.cast<std::vector<std::string>>();
    } catch (py::error_already_set& error) {
      discard(&error, "reading a source");
      return {};
    }
  }

  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace

std::vector<RawStack> PythonStacks::take_stacks() {
  const py::gil_scoped_acquire gil;
  const EmptyInductor nothing;
  const ReadableNames names(captured_);
  auto stacks = captured_.take_stacks();
  AbsentLines absent;
  for (auto& stack : stacks) {
    for (auto& frame : stack.frames) {
      names.put_back(frame.file);
      frame.text = absent.line_of(frame.file, frame.line);
    }
  }
  return stacks;
}

}  // namespace stepleak
