// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/drive/script.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include "harness/base/errors.hpp"
#include "harness/base/text.hpp"
#include "harness/drive/bystander.hpp"
#include "harness/drive/signal_actions.hpp"

namespace stepleak {
namespace {

// What ends a program, or is a word between programs. Not those that a terminal stops and continues a group with.
constexpr auto kPassedOn = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH};

volatile std::sig_atomic_t script_process = 0;
const Bystander* bystander = nullptr;

// What is sent to the whole group reaches the program as well, and is not sent to it twice. Of a terminal's signals the
// kernel says that they are.
void pass_on(int signal, siginfo_t* info, void* /*context*/) {
  const int kept = errno;
  const bool is_for_all = info->si_code > 0 || bystander->has_got(signal);
  if (!is_for_all && script_process > 0) ::kill(static_cast<pid_t>(script_process), signal);
  errno = kept;
}

sigset_t passed_on() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : kPassedOn) sigaddset(&signals, signal);
  return signals;
}

// Keeps signals from ending this process while the program runs.
void pass_signals_on(SignalActions& actions) {
  struct sigaction action {};
  action.sa_sigaction = pass_on;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  action.sa_mask = passed_on();
  for (const int signal : kPassedOn) actions.set_unless_ignored(signal, action);
}

constexpr int kCannotStart = 127;

[[noreturn]] void become(const std::vector<std::string>& command, const std::function<void()>& before_exec) {
  ::signal(SIGPIPE, SIG_DFL);  // the command line ignores it
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  before_exec();
  std::vector<char*> arguments;
  for (const auto& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  fmt::print(stderr, "stepleak: {} cannot be started: {}\n", printable_line(command.front()), std::strerror(errno));
  ::_exit(kCannotStart);
}

// Waits for its end.
int status_of(pid_t process, const std::function<void()>& meanwhile) {
  int status = 0;
  const int flags = meanwhile ? WNOHANG : 0;
  for (;;) {
    const auto ended = ::waitpid(process, &status, flags);
    if (ended == process || (ended < 0 && errno != EINTR)) return status;
    if (ended != 0) continue;
    meanwhile();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace

ScriptEnd run_script(const std::vector<std::string>& command, const std::function<void()>& before_exec,
                     const std::function<void()>& meanwhile) {
  STEPLEAK_EXPECTS(!command.empty());
  script_process = 0;
  std::fflush(nullptr);
  const Bystander of_group(kPassedOn);
  bystander = &of_group;
  // What comes before there is a program to have it waits until there is.
  const auto held = passed_on();
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &held, &before);
  SignalActions signals;
  pass_signals_on(signals);
  const auto start = std::chrono::steady_clock::now();
  const auto process = ::fork();
  if (process < 0) {
    signals.restore();
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    throw failure_error(fmt::format("cannot fork: {}", std::strerror(errno)), "raise the limit of processes");
  }
  if (process == 0) {
    signals.restore();
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    become(command, before_exec);
  }
  script_process = process;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  const int status = status_of(process, meanwhile);
  script_process = 0;
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status), .seconds = seconds};
  return {.exit_code = WEXITSTATUS(status), .seconds = seconds};
}

void end_by_signal(int signal) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace stepleak
