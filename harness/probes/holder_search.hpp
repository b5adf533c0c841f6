// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/trace/recording.hpp"

namespace stepleak {

/// Finds who keeps the survivors of a record pass.
class HolderSearch {
 public:
  virtual ~HolderSearch() = default;
  /// Before the first step of the record pass: remembers what is there.
  virtual void begin() {}
  /// After half of its steps, while what was there before its first is set apart.
  virtual void halfway() {}
  /// After its last step, while what was there before its first is still set apart.
  virtual void end() {}
  /// After the pass, with its survivors and stacks: adds holders, and marks what no root leads to. What it throws costs
  /// the holders, not the verdict.
  virtual void search(Recording& recording) = 0;
};

}  // namespace stepleak
