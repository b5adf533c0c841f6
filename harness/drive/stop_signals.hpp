// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/drive/signal_actions.hpp"

namespace stepleak {

/// Keeps SIGINT, SIGTERM and SIGHUP from ending a process before what is decided is written: who has workers keeps it
/// until then. The second one ends the process at once. One at a time; undone in its destructor.
class StopSignals {
 public:
  StopSignals();

  /// As they were before; for a worker, which has its own copy.
  void restore() const { actions_.restore(); }
  /// The one that came first; 0: none.
  [[nodiscard]] static int stopped_by();

 private:
  SignalActions actions_;
};

/// Keeps SIGTSTP from stopping a server alone while it has workers, and how these end from being lost (SIGCHLD). One at
/// a time; undone in its destructor.
class ServerSignals {
 public:
  ServerSignals();

  /// As they were before; for a worker, which has its own copy.
  void restore() const { actions_.restore(); }
  /// Whether SIGTSTP came since the last call.
  [[nodiscard]] static bool take_suspension();

 private:
  SignalActions actions_;
};

}  // namespace stepleak
