// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/drive/kept_process.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "harness/base/errors.hpp"

namespace stepleak {

struct KeptProcess::Shared {
  std::atomic<pid_t> process{0};
  std::atomic<int> status{0};
  std::atomic<bool> is_ended{false};
  std::atomic<int> error{0};
};

namespace {

// `17 (name) S 16 ...`: the name may have any byte in it.
pid_t parent_of(const char* process) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(fmt::format("/proc/{}/stat", process).c_str(), "re"), std::fclose);
  if (!file) return 0;
  std::array<char, 512> text{};
  const auto size = std::fread(text.data(), 1, text.size() - 1, file.get());
  const auto* after_name = static_cast<const char*>(::memrchr(text.data(), ')', size));
  int parent = 0;
  char state = 0;
  return after_name != nullptr && std::sscanf(after_name + 1, " %c %d", &state, &parent) == 2 ? parent : 0;
}

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), ::closedir);
  while (const auto* entry = folder ? ::readdir(folder.get()) : nullptr) {
    const auto process = std::atoi(entry->d_name);
    if (process > 0 && parent_of(entry->d_name) == ::getpid()) found.push_back(process);
  }
  return found;
}

// Python's: it heeds no SIGTERM, removes the shared memory of processes once they are gone, and then ends by itself.
bool is_resource_tracker(pid_t process) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(fmt::format("/proc/{}/cmdline", process).c_str(), "re"), std::fclose);
  if (!file) return false;
  std::array<char, 512> text{};
  const auto size = std::fread(text.data(), 1, text.size(), file.get());
  return std::string_view(text.data(), size).find("resource_tracker") != std::string_view::npos;
}

// Each one's own children fall to the keeper in turn. They are asked first, and not for long: Ctrl-C ends a run within
// a second. One that hangs in the kernel is not waited for for ever.
void end_orphans() {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPolite{200};
  constexpr std::chrono::seconds kPoliteToTracker{1};
  constexpr std::chrono::seconds kMost{4};
  const auto begin = Clock::now();
  while (Clock::now() - begin < kMost) {
    pid_t reaped = 0;
    while ((reaped = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (reaped < 0) return;
    const auto waited = Clock::now() - begin;
    for (const auto child : children()) {
      const bool is_asked = waited < kPolite || (waited < kPoliteToTracker && is_resource_tracker(child));
      ::kill(child, is_asked ? SIGTERM : SIGKILL);
    }
    ::usleep(1000);
  }
}

sigset_t waited_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGCHLD);
  ::sigaddset(&signals, SIGTERM);
  return signals;
}

[[noreturn]] void be_process(const std::function<void()>& body, pid_t keeper, const sigset_t& mask) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != keeper) ::_exit(0);  // it died before this process could ask to be told
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  body();
  ::_exit(0);
}

}  // namespace

KeptProcess::KeptProcess(const std::function<void()>& body)
    : memory_(sizeof(Shared)), shared_(new (memory_.data()) Shared) {
  const auto server = ::getpid();
  const auto waited = waited_signals();
  sigset_t mask;
  // From its first instruction on, the keeper is to miss none of them.
  ::pthread_sigmask(SIG_BLOCK, &waited, &mask);
  keeper_ = ::fork();
  if (keeper_ != 0) {
    const int error = errno;
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    if (keeper_ > 0) return;
    throw failure_error(fmt::format("cannot fork a worker: {}", std::strerror(error)),
                        "lower --jobs, or raise the limit of processes");
  }

  ::setpgid(0, 0);  // what the terminal sends is for the server to hand on
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != server) ::_exit(0);
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &action, nullptr);  // ignored, it would take the status away
  const auto keeper = ::getpid();
  const auto process = ::fork();
  if (process == 0) {
    shared_->process = ::getpid();
    be_process(body, keeper, mask);
  }
  if (process < 0) {
    shared_->error = errno;
    ::_exit(0);
  }
  ::setpgid(process, process);
  for (bool is_gone = false; !is_gone;) {
    if (::sigwaitinfo(&waited, nullptr) == SIGTERM) ::kill(process, SIGKILL);
    int status = 0;
    while (const auto reaped = ::waitpid(-1, &status, WNOHANG)) {
      if (reaped < 0) break;
      if (reaped != process) continue;
      shared_->status = status;
      is_gone = true;
    }
  }
  end_orphans();
  shared_->is_ended = true;
  ::_exit(0);
}

KeptProcess::~KeptProcess() {
  if (keeper_ > 0) {
    end();
    while (::waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

void KeptProcess::send(int signal) const {
  if (const pid_t process = shared_->process; process > 0) ::kill(process, signal);
}

void KeptProcess::send_to_group(int signal) const {
  send(signal);
  if (const pid_t process = shared_->process; process > 0) ::kill(-process, signal);
}

void KeptProcess::end() const {
  if (keeper_ > 0) ::kill(keeper_, SIGTERM);
}

std::optional<int> KeptProcess::status() {
  if (keeper_ < 0) return shared_->status;
  int status = 0;
  const auto waited = ::waitpid(keeper_, &status, WNOHANG | WUNTRACED);
  if (waited == 0 || (waited < 0 && errno == EINTR)) return std::nullopt;
  if (waited > 0 && WIFSTOPPED(status)) {
    // By a step that stopped its parent, or all processes: stopped, it would neither tell nor heed of any end.
    ::kill(keeper_, SIGCONT);
    return std::nullopt;
  }
  keeper_ = -1;
  // A keeper that was killed has told nothing: its end is the process's, which dies with it.
  if (!shared_->is_ended && shared_->error == 0) shared_->status = status;
  return shared_->status;
}

int KeptProcess::error() const { return shared_->error; }

}  // namespace stepleak
