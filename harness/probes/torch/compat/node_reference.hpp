// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/csrc/autograd/function.h>

#include "harness/probes/torch/compat/features.hpp"

namespace stepleak {

/// How torch holds an autograd node: a strong reference, and a weak one that `lock()` makes strong.
///
/// An intrusive weak reference keeps the memory of a dead node, though nothing that the node owned.
#ifdef STEPLEAK_NODES_ARE_INTRUSIVE
using NodeReference = c10::intrusive_ptr<torch::autograd::Node>;
using WeakNode = c10::weak_intrusive_ptr<torch::autograd::Node>;
#else
using NodeReference = std::shared_ptr<torch::autograd::Node>;
using WeakNode = std::weak_ptr<torch::autograd::Node>;
#endif

}  // namespace stepleak
