// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/drive/stop_signals.hpp"

#include <csignal>

namespace stepleak {
namespace {

volatile std::sig_atomic_t stopped = 0;
volatile std::sig_atomic_t suspended = 0;

struct sigaction action_of(void (*handler)(int), int flags = 0) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  return action;
}

}  // namespace

StopSignals::StopSignals() {
  // What is being written goes on being written.
  const auto stop = action_of([](int number) { stopped = number; }, static_cast<int>(SA_RESETHAND | SA_RESTART));
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) actions_.set_unless_ignored(signal, stop);
}

int StopSignals::stopped_by() { return stopped; }

ServerSignals::ServerSignals() {
  actions_.set_unless_ignored(SIGTSTP, action_of([](int) { suspended = 1; }));
  actions_.set(SIGCHLD, action_of(SIG_DFL));  // ignored, it would take away how a worker ended
}

bool ServerSignals::take_suspension() {
  const bool was_suspended = suspended != 0;
  suspended = 0;
  return was_suspended;
}

}  // namespace stepleak
