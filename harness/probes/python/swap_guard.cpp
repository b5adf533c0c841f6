// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/probes/python/swap_guard.hpp"

#include <pybind11/embed.h>

#include <cstdint>

#include "harness/probes/tensor_references.hpp"

namespace py = pybind11;

namespace stepleak {
namespace {

constexpr const char* kSwap = "_swap_tensor_impl";

// A tensor's `_cdata`, without a word of its subclass's `__torch_function__`; 0 for what is no tensor.
std::uintptr_t impl_of(const py::module_& torch, const py::object& tensor) {
  const auto type = torch.attr("TensorBase");
  if (PyObject_TypeCheck(tensor.ptr(), reinterpret_cast<PyTypeObject*>(type.ptr())) == 0) return 0;
  const auto plain = torch.attr("DisableTorchFunctionSubclass")();
  plain.attr("__enter__")();
  const auto impl = tensor.attr("_cdata").cast<std::uintptr_t>();
  plain.attr("__exit__")(py::none(), py::none(), py::none());
  return impl;
}

class LetGo {
 public:
  explicit LetGo(std::uintptr_t impl) : impl_(impl) {
    if (impl_ != 0) let_go_of_tensor(impl_);
  }
  LetGo(const LetGo&) = delete;
  LetGo& operator=(const LetGo&) = delete;
  ~LetGo() {
    if (impl_ != 0) take_tensor_again(impl_);
  }

 private:
  std::uintptr_t impl_;
};

}  // namespace

struct SwapGuard::State {
  py::module_ torch;
  py::object original;
};

SwapGuard::SwapGuard() {
  const py::gil_scoped_acquire gil;
  auto torch = py::module_::import("torch._C");
  state_ = std::make_unique<State>(State{torch, torch.attr(kSwap)});
  const auto swap = [torch, original = state_->original](const py::object& first, const py::object& second) {
    const LetGo let_go_first(impl_of(torch, first));
    const LetGo let_go_second(impl_of(torch, second));
    return original(first, second);
  };
  torch.attr(kSwap) = py::cpp_function(swap);
}

SwapGuard::~SwapGuard() {
  const py::gil_scoped_acquire gil;
  state_->torch.attr(kSwap) = state_->original;
  state_.reset();
}

}  // namespace stepleak
