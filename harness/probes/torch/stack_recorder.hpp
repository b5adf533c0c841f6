// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "harness/trace/survivor.hpp"

namespace torch {
struct CapturedTraceback;
}

namespace stepleak {

/// Where a thread was: its Python frames, and its C++ return addresses.
struct CapturedStack {
  std::shared_ptr<torch::CapturedTraceback> python;
  std::vector<void*> addresses;
};

using StackCapture = std::shared_ptr<const CapturedStack>;

/// Whose frames capture_stack() records, for the process.
enum class StackSource : std::uint8_t {
  native,  ///< C++ return addresses: 30 us a capture
  python,  ///< Python's frames: 1.5 us; none on autograd's own threads, where there are none
};
void set_stack_source(StackSource source);

/// The frames of the calling thread. May take the GIL: never call it under a lock that a
/// holder of the GIL can want. Null where nothing can be captured.
[[nodiscard]] StackCapture capture_stack();

/// The same, taken once for an operator of torch's own and all that it calls: no user's code lies between.
[[nodiscard]] StackCapture capture_operator_stack();

/// Around an operator that torch runs on this thread; `name` tells whether it is torch's own ("aten::...").
void enter_operator(const char* name);
void leave_operator();

/// Turns captures into frames.
class StackTable {
 public:
  /// Index into stacks(); -1 for a null capture.
  int index_of(const StackCapture& capture);
  /// Symbolises all captures seen so far: Python's frames first, then C++'s with inlined functions expanded,
  /// each innermost first; the user's are marked. Slow (debug information is read): call it once.
  [[nodiscard]] std::vector<std::vector<Frame>> symbolise() const;

 private:
  std::unordered_map<const CapturedStack*, int> indices_;
  std::vector<StackCapture> captures_;
};

}  // namespace stepleak
