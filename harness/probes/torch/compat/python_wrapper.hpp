// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/TensorImpl.h>

#include "harness/probes/torch/compat/features.hpp"

namespace stepleak {

/// Whether a Python object wraps the tensor and owns it. Where Python has let go of it the tensor may own the object
/// instead, to give the same one out again: that counts as no owner.
inline bool has_owning_wrapper(c10::TensorImpl& tensor) {
#ifdef STEPLEAK_WRAPPER_IS_LOADED
  return tensor.pyobj_slot()->load_pyobj() != nullptr;
#else
  return tensor.pyobj_slot()->_unchecked_untagged_pyobj() != nullptr && !tensor.pyobj_slot()->owns_pyobj();
#endif
}

}  // namespace stepleak
