// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <csignal>

namespace stepleak {

/// Keeps SIGINT, SIGTERM and SIGHUP from ending a server before it has handed on what is decided, and SIGTSTP from
/// stopping it alone. The second one of the first three ends it. One at a time; undone in its destructor.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals() { restore(); }

  /// As they were before; for a worker, which has its own copy.
  void restore() const;
  /// The one that came first; 0: none.
  [[nodiscard]] static int stopped_by();
  /// Whether SIGTSTP came since the last call.
  [[nodiscard]] static bool take_suspension();

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCHLD};

  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace stepleak
