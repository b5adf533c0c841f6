// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "harness/trace/survivor.hpp"

namespace stepleak {

/// A stack as it was captured: the frames of an interpreter, and return addresses that still need names; both innermost
/// first. Addresses mean something in this process only.
struct RawStack {
  std::vector<Frame> frames;
  std::vector<const void*> addresses;
};

/// Where the stacks of survivors are kept until they are explained.
class StackSource {
 public:
  virtual ~StackSource() = default;
  /// The captures that survivors point to, in the order of their indices, and forgets them.
  [[nodiscard]] virtual std::vector<RawStack> take_stacks() = 0;
  /// Tells of each `PyCodeObject*` that the captures point to, of some more than once. With the GIL.
  virtual void visit_code(const std::function<void(void*)>& /*visit*/) const {}
};

}  // namespace stepleak
