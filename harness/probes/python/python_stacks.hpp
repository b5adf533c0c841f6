// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/probes/raw_stack.hpp"

namespace stepleak {

/// Python stacks whose naming imports nothing into the user's process. torch's symboliser asks torch for `_inductor`,
/// whose code may have frames of its own, and torch imports what it is asked for: seconds, and 140 MB that stay. While
/// stacks are named an `_inductor` that was not imported is one that knows no frames; other threads may see it
/// meanwhile. It names no stack at all where the name of a single file has no UTF-8: code of such a file has another
/// one meanwhile.
class PythonStacks final : public StackSource {
 public:
  /// `captured` outlives it.
  explicit PythonStacks(StackSource& captured) : captured_(captured) {}
  [[nodiscard]] std::vector<RawStack> take_stacks() override;
  void visit_code(const std::function<void(void*)>& visit) const override { captured_.visit_code(visit); }

 private:
  StackSource& captured_;
};

}  // namespace stepleak
