// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/drive/worker.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "harness/base/bytes.hpp"
#include "harness/base/errors.hpp"
#include "harness/base/memory_file.hpp"
#include "harness/base/process_pages.hpp"
#include "harness/base/text.hpp"
#include "harness/drive/kept_process.hpp"
#include "harness/drive/mailbox.hpp"
#include "harness/drive/server_threads.hpp"

namespace stepleak {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Of what a worker prints; a step that prints in each of a million steps does not fill the memory.
constexpr std::size_t kMostOutput = std::size_t{1} << 20;

// The result is there: nobody waits for longer to hear more of it.
constexpr unsigned kAmendSeconds = 60;

// What a step registered to run at the exit may remove its litter, and hold nobody up.
constexpr unsigned kFarewellSeconds = 2;

struct Running {
  std::size_t task = 0;
  Clock::time_point start = Clock::now();
  Clock::time_point aborted_at{};
  bool is_timed_out = false;
  bool is_interrupted = false;
  FlightRecorder recorder;
  Mailbox mailbox;
  MemoryFile output{"stepleak-output"};  ///< what it prints
  std::optional<KeptProcess> process;
};

void limit_memory(std::int64_t bytes) {
  if (bytes <= 0) return;
  const auto held = static_cast<rlim_t>(process_pages().data);
  const rlimit limit{held + static_cast<rlim_t>(bytes), RLIM_INFINITY};
  ::setrlimit(RLIMIT_DATA, &limit);
}

/// What signals do to the server; a worker has them as they were before.
struct Signals {
  const StopSignals& stop;
  ServerSignals server;
};

// Whatever the step made of the signal, it ends the process then.
void end_after(unsigned seconds) {
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(seconds);
}

// What is handed over stands, and what goes wrong with more of it is nobody's business.
void amend(const WorkerTask& task, const std::string& result, Mailbox& mailbox) {
  end_after(kAmendSeconds);
  try {
    if (const auto amended = task.amend(result); !amended.empty()) mailbox.put(amended);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", printable(error.what()).c_str());
  }
}

[[noreturn]] void run_in_worker(const WorkerTask& task, Running& running, const Signals& signals) {
  signals.server.restore();
  signals.stop.restore();
  ::signal(SIGPIPE, SIG_DFL);  // the server ignores it; a step has it as it would be without us
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::close(null);
  if (!task.show_output) {
    ::dup2(running.output.descriptor(), STDOUT_FILENO);
    ::dup2(running.output.descriptor(), STDERR_FILENO);
  }
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  limit_memory(task.limits.memory_bytes);
  const auto worker = ::getpid();
  int code = 0;
  try {
    const auto result = task.body(running.recorder);
    // A child that the step forked, and that came back here too, has no result to give.
    if (::getpid() != worker) ::_exit(0);
    running.mailbox.put(result);
    if (task.amend) amend(task, result, running.mailbox);
    if (::getpid() != worker) ::_exit(0);
    if (task.farewell) {
      end_after(kFarewellSeconds);
      task.farewell();
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", printable(error.what()).c_str());
    code = static_cast<int>(ExitCode::failure);
  }
  std::fflush(nullptr);
  ::_exit(code);  // no destructors: the interpreter and torch are not torn down safely
}

std::unique_ptr<Running> start_worker(const WorkerTask& task, std::size_t index, const Signals& signals) {
  auto running = std::make_unique<Running>();
  running->task = index;
  std::fflush(nullptr);
  running->process.emplace([&] { run_in_worker(task, *running, signals); });
  return running;
}

std::string place_of(const FlightRecorder& recorder) {
  return recorder.step() == 0 ? "in the set-up" : fmt::format("in step {}", recorder.step());
}

// The last words of what ended for want of memory before it could say so in a result: C++'s and Python's.
bool is_short_of_memory(const WorkerTask& task, const std::string& output) {
  const auto has = [&](std::string_view word) { return output.find(word) != std::string::npos; };
  return task.limits.memory_bytes > 0 && (has("bad_alloc") || has("MemoryError"));
}

void describe_crash(const WorkerTask& task, const Running& running, int status, WorkerEnd& end) {
  const auto place = place_of(running.recorder);
  if (running.process->error() != 0) {
    end.what = fmt::format("cannot fork a worker: {}", std::strerror(running.process->error()));
    end.remedy = "lower --jobs, or raise the limit of processes";
  } else if (running.is_interrupted) {
    end.what = fmt::format("stopped by SIG{} {}", ::sigabbrev_np(stopping_signal()), place);
  } else if (running.is_timed_out) {
    end.what = fmt::format("no end after {:g} s: stopped {}", task.limits.timeout_seconds, place);
    end.remedy = "the output's tail shows where it hung; a slow step needs a larger --timeout";
  } else if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    end.what =
        fmt::format("killed by SIG{} {}", ::sigabbrev_np(signal) != nullptr ? ::sigabbrev_np(signal) : "?", place);
    end.remedy = signal == SIGKILL ? "the kernel kills like this when memory runs out: see dmesg"
                                   : "run the step alone under a debugger; the output's tail shows its last words";
  } else if (is_short_of_memory(task, end.output_tail)) {
    end.what = fmt::format("memory ran out {}: it may take {} beyond what it begins with", place,
                           format_bytes(static_cast<double>(task.limits.memory_bytes)));
    end.remedy = "raise --memory";
  } else {
    end.what = fmt::format("the process exited with code {} {}", WEXITSTATUS(status), place);
    end.remedy = "the step must return, not end the process";
  }
}

WorkerEnd end_of(const WorkerTask& task, const Running& running, int status) {
  WorkerEnd end;
  end.seconds = seconds_since(running.start);
  end.output_tail = running.output.tail(4096);
  auto payload = running.mailbox.text();
  end.is_finished = payload.has_value();
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

// Of a worker that could not be started, or whose end could not be read.
WorkerEnd end_without_result(const std::exception& error) {
  const auto* told = dynamic_cast<const Error*>(&error);
  if (told != nullptr) return {.what = told->what(), .remedy = told->remedy()};
  return {.what = fmt::format("the server failed: {}", error.what()), .remedy = "free some memory, or lower --jobs"};
}

void tell_progress(const std::vector<std::unique_ptr<Running>>& running, std::size_t ended,
                   const WorkerEvents& events) {
  try {
    for (const auto& worker : running) worker->output.forget_all_but(kMostOutput);
    if (events.on_progress) events.on_progress(ended, running.back()->task, running.back()->recorder);
  } catch (const std::bad_alloc&) {
    // A tenth of a second later there may be memory for it.
  }
}

// First SIGABRT, on which Python's faulthandler prints every thread's stack; then all of it is ended.
void stop_if_late(const WorkerTask& task, Running& running) {
  constexpr double kLastWordsSeconds = 2;
  if (running.is_timed_out) {
    if (seconds_since(running.aborted_at) > kLastWordsSeconds) running.process->end();
    return;
  }
  const auto begin = task.last_part ? std::max(running.start, task.last_part()) : running.start;
  if (task.limits.timeout_seconds > 0 && seconds_since(begin) > task.limits.timeout_seconds) {
    running.is_timed_out = true;
    running.aborted_at = Clock::now();
    running.process->send(SIGABRT);
  }
}

// As the terminal's Ctrl-Z means it: workers, which are in groups of their own, stop with their server, go on with it,
// and are late by no second of it.
void suspend(const std::vector<std::unique_ptr<Running>>& running) {
  const auto start = Clock::now();
  for (const auto& worker : running) worker->process->send_to_group(SIGSTOP);
  ::raise(SIGSTOP);
  for (const auto& worker : running) {
    worker->process->send_to_group(SIGCONT);
    worker->start += Clock::now() - start;
  }
}

}  // namespace

int stopping_signal() { return StopSignals::stopped_by(); }

void run_workers(const std::vector<WorkerTask>& tasks, int jobs, const StopSignals& stop, const WorkerEvents& events) {
  expect_one_thread(own_thread_names());
  const Signals signals{.stop = stop, .server = {}};
  std::vector<std::unique_ptr<Running>> running;
  std::size_t next = 0;
  std::size_t ended = 0;
  auto last_progress = Clock::now();
  const auto end = [&](std::size_t task, const auto& how) {
    ++ended;
    if (!events.on_end) return;
    try {
      events.on_end(task, how());
    } catch (const std::exception& error) {
      // No memory for it: of no consequence for the others' results.
      events.on_end(task, end_without_result(error));
    }
  };
  while (ended < (stopping_signal() == 0 ? tasks.size() : next)) {
    while (stopping_signal() == 0 && next < tasks.size() &&
           running.size() < static_cast<std::size_t>(std::max(jobs, 1))) {
      const auto task = next++;
      try {
        running.push_back(start_worker(tasks[task], task, signals));
      } catch (const std::exception& error) {
        end(task, [&error] { return end_without_result(error); });
      }
    }
    if (ServerSignals::take_suspension()) suspend(running);
    std::erase_if(running, [&](const std::unique_ptr<Running>& worker) {
      const auto status = worker->process->status();
      if (status) {
        end(worker->task, [&] { return end_of(tasks[worker->task], *worker, *status); });
        return true;
      }
      if (stopping_signal() != 0) {
        worker->is_interrupted = true;
        worker->process->end();
      }
      stop_if_late(tasks[worker->task], *worker);
      return false;
    });
    if (!running.empty() && seconds_since(last_progress) > 0.1) {
      last_progress = Clock::now();
      tell_progress(running, ended, events);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace stepleak
