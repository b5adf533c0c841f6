// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/drive/signal_actions.hpp"

namespace stepleak {

/// Keeps SIGINT, SIGTERM and SIGHUP from ending a server before it has handed on what is decided, and SIGTSTP from
/// stopping it alone. The second one of the first three ends it. One at a time; undone in its destructor.
class StopSignals {
 public:
  StopSignals();

  /// As they were before; for a worker, which has its own copy.
  void restore() const { actions_.restore(); }
  /// The one that came first; 0: none.
  [[nodiscard]] static int stopped_by();
  /// Whether SIGTSTP came since the last call.
  [[nodiscard]] static bool take_suspension();

 private:
  SignalActions actions_;
};

}  // namespace stepleak
