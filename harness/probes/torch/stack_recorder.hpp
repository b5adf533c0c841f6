// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/probes/raw_stack.hpp"

namespace torch {
struct CapturedTraceback;
}

namespace stepleak {

/// Where a thread was: its Python frames, by torch or as the interpreter wrote them, and its C++ return addresses.
struct CapturedStack {
  std::shared_ptr<torch::CapturedTraceback> python;
  std::vector<void*> addresses;
  std::string written;  ///< see write_python_frames()
};

using StackCapture = std::shared_ptr<const CapturedStack>;

/// Whose frames capture_stack() records, for the process.
enum class StackKind : std::uint8_t {
  native,  ///< C++ return addresses: 30 us a capture
  python,  ///< Python's frames: 1.5 us; none on autograd's own threads, where there are none
};
void set_stack_source(StackKind kind);

// Locks, from the outside in. A thread may take one while it holds those to the left of it, and no other way round:
//
//   locks of users, torch's device allocator, CUDA's   (not ours: callbacks run under them)
//     -> torch's list of frames to free (a capture's end takes it, and torch may free a tensor under it)
//     -> leaf locks of ours (GraphRecord, BlockStacks, records of the CUDA probes, names of operators): no capture
//        ends under one
//   the GIL -> all of the above
//
// So the GIL is taken only where nothing is held for sure: at boundaries, and at the start of an operator, where torch
// takes it too (for modes, subclasses and hooks). Callbacks of allocators and of CUPTI may come under any lock, and a
// holder of that lock may be what a thread with the GIL waits for: they use the stack that the operator's start has
// left on their thread, or frames that can be had without waiting.

/// Around an operator that torch runs on this thread; `name` tells whether it is torch's own ("aten::..."). The start
/// of an outermost one of those captures its stack; it may take the GIL for that.
void enter_operator(const char* name);
void leave_operator();

/// The frames of the calling thread, under any lock: the stack of the operator of torch's own that is under way, since
/// no user's code lies between; outside of one, frames read without waiting for the GIL. Null where there are none.
[[nodiscard]] StackCapture capture_operator_stack();

/// The same for callers inside malloc, who may be in the middle of the interpreter's work, of torch's or of an
/// unwinder's own: no lock is taken but the loader's, and no object of Python's is made. Null where there are none.
[[nodiscard]] StackCapture capture_stack_in_malloc();

/// The captures that survivors of a record pass point to, each once.
class StackTable final : public StackSource {
 public:
  /// Index into take_stacks(); -1 for a null capture.
  int index_of(const StackCapture& capture);
  /// Python's frames by name, C++'s as addresses.
  [[nodiscard]] std::vector<RawStack> take_stacks() override;
  void visit_code(const std::function<void(void*)>& visit) const override;

 private:
  std::unordered_map<const CapturedStack*, int> indices_;
  std::vector<StackCapture> captures_;
};

}  // namespace stepleak
