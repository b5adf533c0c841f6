// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <utility>
#include <vector>

namespace stepleak {

/// What this process does on signals, for a while; as before in its destructor.
class SignalActions {
 public:
  SignalActions() = default;
  SignalActions(const SignalActions&) = delete;
  SignalActions& operator=(const SignalActions&) = delete;
  ~SignalActions() { restore(); }

  void set(int signal, const struct sigaction& action);
  /// But a signal that is ignored stays so: who is started like that (nohup) wants to outlive it.
  void set_unless_ignored(int signal, const struct sigaction& action);
  /// As they were before; also for a child, which has its own copy.
  void restore() const;

 private:
  std::vector<std::pair<int, struct sigaction>> before_;
};

}  // namespace stepleak
