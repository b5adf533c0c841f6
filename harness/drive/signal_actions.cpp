// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/drive/signal_actions.hpp"

namespace stepleak {

void SignalActions::set(int signal, const struct sigaction& action) {
  struct sigaction before {};
  ::sigaction(signal, &action, &before);
  before_.emplace_back(signal, before);
}

void SignalActions::set_unless_ignored(int signal, const struct sigaction& action) {
  struct sigaction before {};
  ::sigaction(signal, nullptr, &before);
  if (before.sa_handler != SIG_IGN) set(signal, action);
}

void SignalActions::restore() const {
  for (const auto& [signal, action] : before_) ::sigaction(signal, &action, nullptr);
}

}  // namespace stepleak
