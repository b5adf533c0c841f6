// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/probes/raw_stack.hpp"

namespace stepleak {

/// Python stacks whose naming imports nothing into the user's process. torch's symboliser asks torch for `_inductor`,
/// whose code may have frames of its own, and torch imports what it is asked for: seconds, and 140 MB that stay. While
/// stacks are named an `_inductor` that was not imported is one that knows no frames; other threads may see it
/// meanwhile.
class PythonStacks final : public StackSource {
 public:
  /// `captured` outlives it.
  explicit PythonStacks(StackSource& captured) : captured_(captured) {}
  [[nodiscard]] std::vector<RawStack> take_stacks() override;

 private:
  StackSource& captured_;
};

}  // namespace stepleak
