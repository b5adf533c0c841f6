// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/torch/tensor_shell.hpp"

#include <c10/core/StorageImpl.h>
#include <c10/core/TensorImpl.h>

#include <typeinfo>

namespace stepleak {
namespace {

// Sparse, nested, batched, functional and opaque tensors are classes of their own; what Python answers for is marked.
bool is_plain(const at::TensorImpl& impl) {
  return typeid(impl) == typeid(at::TensorImpl) && !impl.is_python_dispatch() && !impl.has_symbolic_sizes_strides();
}

}  // namespace

TensorShell shell_of(const at::Tensor& tensor) {
  const auto& impl = *tensor.unsafeGetTensorImpl();
  TensorShell shell{.is_plain = is_plain(impl)};
  // has_storage() is virtual, but none of torch's answers runs anything.
  if (auto* storage = impl.unsafe_storage().unsafeGetStorageImpl(); storage != nullptr) {
    // A fake tensor's storage throws where its memory is asked for, and its size may be a symbol.
    const auto& memory = storage->_mutable_data_ptr_no_checks();
    shell.storage = reinterpret_cast<std::uintptr_t>(memory.get());
    shell.storage_bytes = storage->sym_nbytes().maybe_as_int().value_or(0);
    if (memory.device().is_cuda()) shell.device = {DeviceType::cuda, memory.device().index()};
  }
  shell.bytes = shell.storage_bytes;
  if (shell.is_plain) {
    shell.dims = static_cast<int>(impl.dim());
    shell.bytes = impl.numel() * static_cast<std::int64_t>(impl.itemsize());
  }
  return shell;
}

bool has_elements(const at::Tensor& tensor) {
  const auto& impl = *tensor.unsafeGetTensorImpl();
  return !is_plain(impl) || impl.numel() > 0;
}

}  // namespace stepleak
