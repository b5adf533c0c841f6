// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "harness/trace/device.hpp"

namespace stepleak {

/// What can be said of any tensor by looking at its members only: no operator runs, no code of a subclass or of a mode,
/// nothing throws and nobody warns. A fake, functional, sparse, nested, batched or quantised tensor, one with symbolic
/// sizes and one of a subclass with `__torch_dispatch__` answer many questions by code of their own, or by an
/// exception; of those only the storage is given, where they have one.
struct TensorShell {
  bool is_plain = false;  ///< sizes are as its members say
  Device device = kHost;
  int dims = 1;                ///< 1 where it is not plain
  std::int64_t bytes = 0;      ///< of its elements; of its storage where it is not plain
  std::uintptr_t storage = 0;  ///< address of its memory; 0: it has none
  std::int64_t storage_bytes = 0;
};
[[nodiscard]] TensorShell shell_of(const at::Tensor& tensor);

/// Whether it has elements; true where only code of its own could tell.
[[nodiscard]] bool has_elements(const at::Tensor& tensor);

}  // namespace stepleak
