// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/drive/stop_signals.hpp"

#include <cstddef>

namespace stepleak {
namespace {

volatile std::sig_atomic_t stopped = 0;
volatile std::sig_atomic_t suspended = 0;

struct sigaction action_for(int signal) {
  struct sigaction action {};
  if (signal == SIGCHLD) {
    action.sa_handler = SIG_DFL;  // ignored, it would take away how a worker ended
  } else if (signal == SIGTSTP) {
    action.sa_handler = [](int) { suspended = 1; };
  } else {
    action.sa_handler = [](int number) { stopped = number; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
  }
  return action;
}

}  // namespace

StopSignals::StopSignals() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    const auto action = action_for(kSignals[i]);
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    // Who is started with it ignored (nohup) wants to outlive it.
    if (before_[i].sa_handler != SIG_IGN || kSignals[i] == SIGCHLD) ::sigaction(kSignals[i], &action, nullptr);
  }
}

void StopSignals::restore() const {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
}

int StopSignals::stopped_by() { return stopped; }

bool StopSignals::take_suspension() {
  const bool was_suspended = suspended != 0;
  suspended = 0;
  return was_suspended;
}

}  // namespace stepleak
