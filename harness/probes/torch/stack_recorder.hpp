// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "harness/trace/survivor.hpp"

namespace torch {
struct CapturedTraceback;
}

namespace stepleak {

using StackCapture = std::shared_ptr<torch::CapturedTraceback>;

/// The Python and C++ frames of the calling thread; costs some 30 us. May take the GIL: never call it
/// under a lock that a holder of the GIL can want. Null where nothing can be captured.
[[nodiscard]] StackCapture capture_stack();

/// Turns captures into frames, each capture once; equal captures share one stack.
class StackTable {
 public:
  /// Index into stacks(); -1 for a null capture.
  int index_of(const StackCapture& capture);
  /// Symbolises all captures seen so far: innermost frame first, frames of torch, stepleak and the
  /// languages' own libraries marked as not the user's. Slow (debug information is read): call it once.
  [[nodiscard]] std::vector<std::vector<Frame>> symbolise() const;

 private:
  std::unordered_map<const torch::CapturedTraceback*, int> indices_;
  std::vector<StackCapture> captures_;
};

}  // namespace stepleak
