// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/drive/worker.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "harness/base/errors.hpp"

namespace stepleak {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// An anonymous file that outlives its writer.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : descriptor_(::memfd_create(name, MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw failure_error(fmt::format("memfd_create: {}", std::strerror(errno)), "free some memory");
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(descriptor_); }

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] std::string tail(std::size_t most) const {
    struct stat status {};
    ::fstat(descriptor_, &status);
    const auto size = static_cast<std::size_t>(status.st_size);
    std::string text(std::min(size, most), '\0');
    const auto got = ::pread(descriptor_, text.data(), text.size(), static_cast<off_t>(size - text.size()));
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }

 private:
  int descriptor_;
};

volatile std::sig_atomic_t stopped_by = 0;

/// Keeps signals from ending the server before it has handed on what is decided. The second one ends it.
class StopSignals {
 public:
  StopSignals() {
    struct sigaction action {};
    action.sa_handler = [](int signal) { stopped_by = signal; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      ::sigaction(kSignals[i], nullptr, &before_[i]);
      // Who is started with it ignored (nohup) wants to outlive it.
      if (before_[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
    }
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals() { restore(); }
  void restore() const {
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  }

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_{};
};

// Stands before a payload: whose it is, of which run, and how much there must be of it. A child that the step forked,
// and what a step writes into any descriptor that it finds, is no result.
std::string seal_of(pid_t worker, std::uint64_t nonce, std::size_t bytes) {
  return fmt::format("{} {:016x} {}\n", worker, nonce, bytes);
}

std::uint64_t fresh_nonce() {
  std::uint64_t nonce = 0;
  if (::getrandom(&nonce, sizeof nonce, 0) != sizeof nonce) throw failure_error("the system gives no random numbers");
  return nonce;
}

// What stands behind the seal of this very worker; nothing where it is another's, or incomplete.
std::optional<std::string> unsealed(std::string text, pid_t worker, std::uint64_t nonce) {
  const auto begin = text.find('\n') + 1;
  if (begin == 0 || text.substr(0, begin) != seal_of(worker, nonce, text.size() - begin)) return std::nullopt;
  return text.substr(begin);
}

struct Running {
  std::size_t task = 0;
  pid_t process = -1;
  Clock::time_point start = Clock::now();
  Clock::time_point aborted_at{};
  bool is_timed_out = false;
  bool is_interrupted = false;
  FlightRecorder recorder;
  std::uint64_t nonce = fresh_nonce();
  MemoryFile payload{"stepleak-payload"};
  MemoryFile output{"stepleak-output"};
};

void limit_memory(std::int64_t bytes) {
  if (bytes <= 0) return;
  std::array<char, 128> text{};
  long long pages[6] = {};
  if (const int statm = ::open("/proc/self/statm", O_RDONLY); statm >= 0) {
    if (::read(statm, text.data(), text.size() - 1) > 0) {
      std::sscanf(text.data(), "%lld %lld %lld %lld %lld %lld", &pages[0], &pages[1], &pages[2], &pages[3], &pages[4],
                  &pages[5]);
    }
    ::close(statm);
  }
  const auto held = static_cast<rlim_t>(pages[5]) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
  const rlimit limit{held + static_cast<rlim_t>(bytes), RLIM_INFINITY};
  ::setrlimit(RLIMIT_DATA, &limit);
}

[[noreturn]] void run_in_worker(const WorkerTask& task, Running& running, const StopSignals& signals) {
  signals.restore();
  ::signal(SIGPIPE, SIG_DFL);  // the server ignores it; a step has it as it would be without us
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, STDIN_FILENO);
  if (!task.show_output) {
    ::dup2(running.output.descriptor(), STDOUT_FILENO);
    ::dup2(running.output.descriptor(), STDERR_FILENO);
  }
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  limit_memory(task.limits.memory_bytes);
  const auto worker = ::getpid();
  std::string payload;
  int code = 0;
  try {
    const auto result = task.body(running.recorder);
    if (::getpid() != worker) ::_exit(0);
    payload = seal_of(worker, running.nonce, result.size()) + result;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    code = static_cast<int>(ExitCode::failure);
  }
  std::string_view rest = payload;
  while (!rest.empty()) {
    const auto written = ::write(running.payload.descriptor(), rest.data(), rest.size());
    if (written <= 0) break;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  std::fflush(nullptr);
  ::_exit(code);  // no destructors: the interpreter and torch are not torn down safely
}

std::unique_ptr<Running> start_worker(const WorkerTask& task, std::size_t index, const StopSignals& signals) {
  auto running = std::make_unique<Running>();
  running->task = index;
  std::fflush(nullptr);
  running->process = ::fork();
  if (running->process < 0) {
    throw failure_error(fmt::format("cannot fork a worker: {}", std::strerror(errno)),
                        "lower --jobs, or raise the limit of processes");
  }
  if (running->process == 0) run_in_worker(task, *running, signals);
  ::setpgid(running->process, running->process);
  return running;
}

std::string place_of(const FlightRecorder& recorder) {
  return recorder.step() == 0 ? "in the set-up" : fmt::format("in step {}", recorder.step());
}

void describe_crash(const WorkerTask& task, const Running& running, int status, WorkerEnd& end) {
  const auto place = place_of(running.recorder);
  if (running.is_interrupted) {
    end.what = fmt::format("stopped by SIG{} {}", ::sigabbrev_np(stopped_by), place);
  } else if (running.is_timed_out) {
    end.what = fmt::format("no end after {:g} s: stopped {}", task.limits.timeout_seconds, place);
    end.remedy = "the output's tail shows where it hung; a slow step needs a larger --timeout";
  } else if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    end.what =
        fmt::format("killed by SIG{} {}", ::sigabbrev_np(signal) != nullptr ? ::sigabbrev_np(signal) : "?", place);
    end.remedy = signal == SIGKILL ? "the kernel kills like this when memory runs out: see dmesg"
                                   : "run the step alone under a debugger; the output's tail shows its last words";
  } else {
    end.what = fmt::format("the process exited with code {} {}", WEXITSTATUS(status), place);
    end.remedy = "the step must return, not end the process";
  }
}

WorkerEnd end_of(const WorkerTask& task, const Running& running, int status) {
  WorkerEnd end;
  end.seconds = seconds_since(running.start);
  end.output_tail = running.output.tail(4096);
  auto payload = unsealed(running.payload.tail(std::size_t{1} << 30), running.process, running.nonce);
  end.is_finished = payload && WIFEXITED(status);
  if (end.is_finished) {
    end.payload = std::move(*payload);
    return end;
  }
  end.is_interrupted = running.is_interrupted;
  end.trace = running.recorder.to_trace();
  end.policy = running.recorder.policy();
  describe_crash(task, running, status, end);
  return end;
}

// First SIGABRT, on which Python's faulthandler prints every thread's stack; then SIGKILL.
void stop_if_late(const WorkerTask& task, Running& running) {
  constexpr double kLastWordsSeconds = 2;
  if (running.is_timed_out) {
    if (seconds_since(running.aborted_at) > kLastWordsSeconds) ::kill(-running.process, SIGKILL);
  } else if (task.limits.timeout_seconds > 0 && seconds_since(running.start) > task.limits.timeout_seconds) {
    running.is_timed_out = true;
    running.aborted_at = Clock::now();
    ::kill(running.process, SIGABRT);
  }
}

}  // namespace

int thread_count() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    (void)entry;
    ++count;
  }
  return count;
}

int stopping_signal() { return stopped_by; }

void run_workers(const std::vector<WorkerTask>& tasks, int jobs, const WorkerEvents& events) {
  if (const int threads = thread_count(); threads != 1) {
    throw failure_error(fmt::format("the server has {} threads and cannot fork safely", threads),
                        "set OMP_NUM_THREADS=1 and OPENBLAS_NUM_THREADS=1 before it starts");
  }
  const StopSignals signals;
  std::vector<std::unique_ptr<Running>> running;
  std::size_t next = 0;
  std::size_t ended = 0;
  auto last_progress = Clock::now();
  while (ended < (stopped_by == 0 ? tasks.size() : next)) {
    while (stopped_by == 0 && next < tasks.size() && running.size() < static_cast<std::size_t>(std::max(jobs, 1))) {
      running.push_back(start_worker(tasks[next], next, signals));
      ++next;
    }
    std::erase_if(running, [&](const std::unique_ptr<Running>& worker) {
      int status = 0;
      if (::waitpid(worker->process, &status, WNOHANG) == 0) {
        if (stopped_by != 0) {
          worker->is_interrupted = true;
          ::kill(-worker->process, SIGKILL);
        }
        stop_if_late(tasks[worker->task], *worker);
        return false;
      }
      ::kill(-worker->process, SIGKILL);  // what the worker left running
      ++ended;
      if (events.on_end) events.on_end(worker->task, end_of(tasks[worker->task], *worker, status));
      return true;
    });
    if (events.on_progress && !running.empty() && seconds_since(last_progress) > 0.1) {
      last_progress = Clock::now();
      events.on_progress(ended, running.back()->task, running.back()->recorder.step());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace stepleak
