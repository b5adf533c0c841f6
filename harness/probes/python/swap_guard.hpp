// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace stepleak {

/// torch.utils.swap_tensors refuses tensors that C++ holds weak references to: while a guard lives, ours are let go
/// around each swap, through a function in place of torch's own `torch._C._swap_tensor_impl`. One at a time.
/// Needs a running interpreter; takes the GIL itself.
class SwapGuard {
 public:
  SwapGuard();
  SwapGuard(const SwapGuard&) = delete;
  SwapGuard& operator=(const SwapGuard&) = delete;
  ~SwapGuard();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stepleak
