// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Workers as a hostile step leaves them: nothing of theirs survives, nothing of what they return is lost.

#include "harness/drive/worker.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <new>
#include <thread>

#include "harness/drive/mailbox.hpp"

namespace stepleak {
namespace {

using Body = std::function<std::string(FlightRecorder&)>;

std::map<std::size_t, WorkerEnd> ends_of(const std::vector<Body>& bodies, WorkerLimits limits = {}, int jobs = 2) {
  std::vector<WorkerTask> tasks;
  for (const auto& body : bodies) tasks.push_back({"task", body, limits});
  std::map<std::size_t, WorkerEnd> ends;
  run_workers(tasks, jobs, StopSignals(),
              {.on_end = [&](std::size_t task, const WorkerEnd& end) { ends.emplace(task, end); }});
  return ends;
}

WorkerEnd end_of(const Body& body, WorkerLimits limits = {}) { return ends_of({body}, limits).at(0); }

std::string done(FlightRecorder& /*recorder*/) { return "done"; }

// A process that two processes tell each other of.
class SharedPid {
 public:
  SharedPid()
      : pid_(new (::mmap(nullptr, sizeof(std::atomic<pid_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                         0)) std::atomic<pid_t>(0)) {}
  SharedPid(const SharedPid&) = delete;
  SharedPid& operator=(const SharedPid&) = delete;
  ~SharedPid() { ::munmap(pid_, sizeof(std::atomic<pid_t>)); }
  void set(pid_t pid) { *pid_ = pid; }
  [[nodiscard]] pid_t get() const { return *pid_; }
  [[nodiscard]] pid_t awaited() const {
    while (*pid_ == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return *pid_;
  }

 private:
  std::atomic<pid_t>* pid_;
};

// As ps shows it; '-' where there is no such process. One that ends between open and read reads as an error (ESRCH),
// which a stream buffer throws.
char state_of(pid_t process) try {
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(stat), {}};
  const auto after_name = text.rfind(')');
  return after_name == std::string::npos ? '-' : text.at(after_name + 2);
} catch (const std::ios_base::failure&) {
  return '-';
}

// Gone, or dead and not yet waited for by whom it fell to.
bool is_gone(pid_t process) { return state_of(process) == '-' || state_of(process) == 'Z'; }

template <typename Condition>
bool comes_true(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// Forks a process that sleeps, in a session of its own where it is to be a daemon.
pid_t start_sleeper(bool is_daemon) {
  const auto sleeper = ::fork();
  if (sleeper != 0) return sleeper;
  if (is_daemon) ::setsid();
  ::sleep(600);
  ::_exit(0);
}

// Workers are forked from one thread, and ThreadSanitizer starts another.
class WorkerTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "a process with threads forks no workers";
#endif
  }
};

TEST_F(WorkerTest, HandsOverWhatItReturns) {
  const auto end = end_of([](FlightRecorder&) { return std::string(3 << 20, 'x'); });
  EXPECT_TRUE(end.is_finished);
  EXPECT_EQ(end.payload, std::string(3 << 20, 'x'));
}

TEST_F(WorkerTest, HandsOverWhatItReturnsAfterAllDescriptorsWereClosedAndOpenedAnew) {
  const auto folder = std::filesystem::temp_directory_path() / ("stepleak-worker-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const auto end = end_of([&](FlightRecorder&) {
    ::close_range(0, ~0U, 0);
    for (int i = 0; i < 300; ++i) ::open((folder / std::to_string(i)).c_str(), O_CREAT | O_RDWR, 0600);
    return std::string("whole");
  });
  EXPECT_TRUE(end.is_finished);
  EXPECT_EQ(end.payload, "whole");
  for (const auto& file : std::filesystem::directory_iterator(folder)) EXPECT_EQ(file.file_size(), 0) << file;
  std::filesystem::remove_all(folder);
}

TEST_F(WorkerTest, SaysNothingForAForkedChildThatReturnsToo) {
  SharedPid child;
  const auto end = end_of([&](FlightRecorder&) {
    const auto forked = ::fork();
    if (forked == 0) return std::string("the child's");
    ::waitpid(forked, nullptr, 0);
    return std::string("the worker's");
  });
  EXPECT_EQ(end.payload, "the worker's");
}

TEST_F(WorkerTest, IsNoResultWhereOnlyAForkedChildReturns) {
  const auto end = end_of([](FlightRecorder&) -> std::string {
    const auto forked = ::fork();
    if (forked == 0) return "the child's";
    ::waitpid(forked, nullptr, 0);
    ::_exit(0);
  });
  EXPECT_FALSE(end.is_finished);
  EXPECT_EQ(end.what, "the process exited with code 0 in the set-up");
}

TEST_F(WorkerTest, KeepsTheEndOfWhatIsPrinted) {
  const auto end = end_of([](FlightRecorder&) {
    const std::string line(1 << 16, 'x');
    for (int i = 0; i < 200; ++i) (void)::write(STDOUT_FILENO, line.data(), line.size());
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    (void)::write(STDERR_FILENO, "last words", 10);
    return std::string();
  });
  EXPECT_EQ(end.output_tail.size(), 4096);
  EXPECT_TRUE(end.output_tail.ends_with("xlast words"));
}

TEST_F(WorkerTest, TellsTheSignalThatEndedIt) {
  const auto end = end_of([](FlightRecorder&) -> std::string {
    ::raise(SIGABRT);
    return "not reached";
  });
  EXPECT_FALSE(end.is_finished);
  EXPECT_EQ(end.what, "killed by SIGABRT in the set-up");
}

TEST_F(WorkerTest, TellsThatItsMemoryRanOutWhereThatIsLimited) {
  const Body body = [](FlightRecorder& /*recorder*/) -> std::string { throw std::bad_alloc(); };
  const auto limited = end_of(body, {.memory_bytes = std::int64_t{1} << 30});
  EXPECT_EQ(limited.what, "memory ran out in the set-up: it may take 1.0 GiB beyond what it begins with");
  EXPECT_EQ(limited.remedy, "raise --memory");
  EXPECT_EQ(end_of(body).what, "the process exited with code 3 in the set-up");
}

TEST_F(WorkerTest, TellsItsEndWhereSigchldIsIgnored) {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  SharedPid seen;
  const auto ends = ends_of({done, [](FlightRecorder&) -> std::string { ::_exit(7); },
                             [&](FlightRecorder&) {
                               struct sigaction action {};
                               ::sigaction(SIGCHLD, nullptr, &action);
                               seen.set(action.sa_handler == SIG_IGN ? 1 : 2);
                               return std::string();
                             }});
  struct sigaction after {};
  ::sigaction(SIGCHLD, nullptr, &after);
  ::signal(SIGCHLD, before);
  EXPECT_EQ(ends.at(0).payload, "done");
  EXPECT_EQ(ends.at(1).what, "the process exited with code 7 in the set-up");
  EXPECT_EQ(seen.get(), 1) << "the worker is as it would be without us";
  EXPECT_EQ(after.sa_handler, SIG_IGN);
}

TEST_F(WorkerTest, EndsAtTheTimeoutWhereItIgnoresSignalsAndHasLeftItsGroup) {
  SharedPid worker;
  const auto end = end_of(
      [&](FlightRecorder&) -> std::string {
        for (const int signal : {SIGABRT, SIGTERM, SIGINT, SIGHUP}) ::signal(signal, SIG_IGN);
        worker.set(::getpid());
        ::setpgid(0, ::getppid());
        for (;;) ::pause();
      },
      {.timeout_seconds = 0.2});
  EXPECT_EQ(end.what, "no end after 0.2 s: stopped in the set-up");
  EXPECT_TRUE(is_gone(worker.get()));
}

TEST_F(WorkerTest, CountsItsTimeoutFromItsLastPart) {
  using Clock = std::chrono::steady_clock;
  const auto end_with = [](const std::function<Clock::time_point()>& last_part) {
    const auto body = [](FlightRecorder&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(600));
      return std::string("done");
    };
    WorkerEnd ended;
    run_workers({{.name = "parts", .body = body, .limits = {.timeout_seconds = 0.3}, .last_part = last_part}}, 1,
                StopSignals(), {.on_end = [&](std::size_t, const WorkerEnd& end) { ended = end; }});
    return ended;
  };
  EXPECT_EQ(end_with(Clock::now).payload, "done");
  const auto begin = Clock::now();
  EXPECT_EQ(end_with([begin] { return begin; }).what, "no end after 0.3 s: stopped in the set-up");
}

// Ctrl-C ends a run within a second, whatever its workers have left.
TEST_F(WorkerTest, WaitsForLessThanASecondForWhatHeedsNoRequestToEnd) {
  SharedPid sleeper;
  const auto begin = std::chrono::steady_clock::now();
  const auto end = end_of([&](FlightRecorder&) {
    ::signal(SIGTERM, SIG_IGN);
    sleeper.set(start_sleeper(true));
    return std::string("done");
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(900));
  EXPECT_EQ(end.payload, "done");
  EXPECT_TRUE(is_gone(sleeper.get()));
}

TEST_F(WorkerTest, LeavesPythonsResourceTrackerTheTimeToTidyUp) {
  const auto tidied = std::filesystem::temp_directory_path() / ("stepleak-tidied-" + std::to_string(::getpid()));
  const auto end = end_of([&](FlightRecorder&) {
    ::signal(SIGTERM, SIG_IGN);
    if (::fork() == 0) {
      ::execlp("sh", "sh", "-c", "sleep 0.4; : >\"$1\"", "multiprocessing.resource_tracker", tidied.c_str(), nullptr);
      ::_exit(127);
    }
    return std::string("done");
  });
  EXPECT_EQ(end.payload, "done");
  EXPECT_TRUE(std::filesystem::remove(tidied));
}

class OrphanTest : public WorkerTest, public ::testing::WithParamInterface<bool> {};

TEST_P(OrphanTest, EndsWithItsWorkerThatReturns) {
  SharedPid sleeper;
  const auto end = end_of([&](FlightRecorder&) {
    sleeper.set(start_sleeper(GetParam()));
    return std::string("done");
  });
  EXPECT_EQ(end.payload, "done");
  EXPECT_TRUE(is_gone(sleeper.get()));
}

TEST_P(OrphanTest, EndsWithItsWorkerThatIsKilled) {
  SharedPid sleeper;
  const auto end = end_of([&](FlightRecorder&) -> std::string {
    sleeper.set(start_sleeper(GetParam()));
    ::kill(::getpid(), SIGKILL);
    return "not reached";
  });
  EXPECT_EQ(end.what, "killed by SIGKILL in the set-up");
  EXPECT_TRUE(is_gone(sleeper.get()));
}

TEST_P(OrphanTest, EndsWithTheServerThatIsKilled) {
  SharedPid worker;
  SharedPid sleeper;
  const auto server = ::fork();
  if (server == 0) {
    (void)end_of([&](FlightRecorder&) -> std::string {
      worker.set(::getpid());
      sleeper.set(start_sleeper(GetParam()));
      for (;;) ::pause();
    });
    ::_exit(0);
  }
  const auto orphan = sleeper.awaited();
  EXPECT_FALSE(is_gone(orphan)) << "it must live for this test to say anything";
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
  EXPECT_TRUE(comes_true([&] { return is_gone(worker.get()) && is_gone(orphan); }));
}

INSTANTIATE_TEST_SUITE_P(Worker, OrphanTest, ::testing::Bool(),
                         [](const auto& given) { return given.param ? "AsDaemon" : "AsChild"; });

TEST_F(WorkerTest, EndsWhereItHasStoppedItsKeeper) {
  const auto end = end_of([](FlightRecorder&) {
    ::kill(::getppid(), SIGSTOP);
    return std::string("done");
  });
  EXPECT_EQ(end.payload, "done");
  const auto late = end_of(
      [](FlightRecorder&) -> std::string {
        ::kill(::getppid(), SIGSTOP);
        ::sleep(600);
        return "done";
      },
      {.timeout_seconds = 0.2});
  EXPECT_TRUE(late.what.starts_with("no end after 0.2 s")) << late.what;
}

// What this process ignores (nohup, a shell's `&`), its children would too.
class WorkerSignalTest : public WorkerTest {
 protected:
  template <typename Serve>
  static pid_t fork_server(const Serve& serve) {
    const auto server = ::fork();
    if (server != 0) return server;
    for (const int signal : {SIGINT, SIGTERM, SIGTSTP}) ::signal(signal, SIG_DFL);
    serve();
    ::_exit(0);
  }

  // How it ended; -1: not within ten seconds.
  static int end_of(pid_t server) {
    int status = 0;
    if (comes_true([&] { return ::waitpid(server, &status, WNOHANG) == server; })) return status;
    ::kill(server, SIGKILL);
    ::waitpid(server, nullptr, 0);
    return -1;
  }
};

TEST_F(WorkerSignalTest, StopsAndGoesOnWithItsServer) {
  SharedPid worker;
  const auto server = fork_server([&] {
    const auto end = stepleak::end_of([&](FlightRecorder&) {
      worker.set(::getpid());
      std::this_thread::sleep_for(std::chrono::milliseconds(400));
      return std::string("done");
    });
    ::_exit(end.payload == "done" ? 0 : 1);
  });
  const auto stopped = worker.awaited();
  ::kill(server, SIGTSTP);
  int status = 0;
  ::waitpid(server, &status, WUNTRACED);
  EXPECT_TRUE(WIFSTOPPED(status));
  EXPECT_TRUE(comes_true([&] { return state_of(stopped) == 'T'; }));
  ::kill(server, SIGCONT);
  status = end_of(server);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(WorkerSignalTest, ASecondInterruptEndsTheServerAtOnceAndTheWorkerWithIt) {
  SharedPid worker;
  const auto server = fork_server([&] {
    std::vector<WorkerTask> tasks{{"task", [&](FlightRecorder&) -> std::string {
                                     worker.set(::getpid());
                                     for (;;) ::pause();
                                   }}};
    // One that takes its time to hand on what was decided.
    run_workers(tasks, 1, StopSignals(), {.on_end = [](std::size_t, const WorkerEnd&) { ::sleep(600); }});
  });
  const auto ended = worker.awaited();
  ::kill(server, SIGINT);
  EXPECT_TRUE(comes_true([&] { return is_gone(ended); }));
  ::kill(server, SIGINT);
  const auto status = end_of(server);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
}

TEST_F(WorkerSignalTest, AnInterruptEndsNothingBeforeWhatTheWorkersCameToIsWritten) {
  SharedPid writing;
  const auto server = fork_server([&] {
    const StopSignals signals;
    std::string came_to;
    run_workers({{"task", done}}, 1, signals,
                {.on_end = [&](std::size_t, const WorkerEnd& end) { came_to = end.payload; }});
    writing.set(::getpid());
    while (stopping_signal() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ::_exit(came_to == "done" && stopping_signal() == SIGINT ? 0 : 1);
  });
  ::kill(writing.awaited(), SIGINT);
  const auto status = end_of(server);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// Its server writes by then, and has no worker to stop.
TEST_F(WorkerSignalTest, StopsAloneOnceItsWorkersHaveEnded) {
  SharedPid writing;
  const auto server = fork_server([&] {
    // SIGTSTP stops nobody in a group that is orphaned, as that of a test without a shell may be.
    ::setpgid(0, 0);
    const StopSignals signals;
    run_workers({{"task", done}}, 1, signals, {});
    writing.set(::getpid());
    for (;;) ::pause();
  });
  ::kill(writing.awaited(), SIGTSTP);
  int status = 0;
  EXPECT_TRUE(comes_true([&] { return ::waitpid(server, &status, WUNTRACED | WNOHANG) == server; }));
  EXPECT_TRUE(WIFSTOPPED(status));
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
}

TEST_F(WorkerSignalTest, GoesOnAtAnInterruptThatIsIgnoredAndEndsAtSigterm) {
  SharedPid worker;
  const auto server = fork_server([&] {
    ::signal(SIGINT, SIG_IGN);
    const auto end = stepleak::end_of([&](FlightRecorder&) -> std::string {
      worker.set(::getpid());
      for (;;) ::pause();
    });
    ::_exit(end.what == "stopped by SIGTERM in the set-up" ? 0 : 1);
  });
  const auto running = worker.awaited();
  ::kill(server, SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(is_gone(running));
  EXPECT_EQ(::waitpid(server, nullptr, WNOHANG), 0);
  ::kill(server, SIGTERM);
  const auto status = end_of(server);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(is_gone(running));
}

// What a task's amendment makes of "done".
std::string payload_after(const std::function<std::string(const std::string&)>& amend) {
  std::string payload;
  run_workers({{.name = "task", .body = done, .amend = amend}}, 1, StopSignals(),
              {.on_end = [&](std::size_t, const WorkerEnd& end) { payload = end.is_finished ? end.payload : "-"; }});
  return payload;
}

TEST(AmendTest, PutsMoreInTheResultsPlaceAndNothingInsteadOfIt) {
  EXPECT_EQ(payload_after([](const std::string& result) { return result + ", and more"; }), "done, and more");
  EXPECT_EQ(payload_after([](const std::string&) { return std::string(); }), "done");
}

TEST(AmendTest, LosesNoResultHoweverItEnds) {
  EXPECT_EQ(payload_after([](const std::string&) -> std::string { throw std::runtime_error("no room"); }), "done");
  EXPECT_EQ(payload_after([](const std::string&) -> std::string { ::_exit(7); }), "done");
  EXPECT_EQ(payload_after([](const std::string&) -> std::string {
              ::raise(SIGKILL);
              return "killed";
            }),
            "done");
  EXPECT_EQ(payload_after([](const std::string&) { return std::string(Mailbox::kCapacity, 'x'); }), "done");
}

TEST(MailboxTest, IsEmptyUntilTextIsPut) {
  Mailbox mailbox;
  EXPECT_EQ(mailbox.text(), std::nullopt);
  mailbox.put("");
  EXPECT_EQ(mailbox.text(), "");
}

TEST(MailboxTest, HasWhatWasPutLast) {
  Mailbox mailbox;
  mailbox.put("first");
  mailbox.put("second, longer");
  EXPECT_EQ(mailbox.text(), "second, longer");
}

TEST(MailboxTest, RefusesMoreThanItHolds) {
  Mailbox mailbox;
  const std::string text(Mailbox::kCapacity + 1, 'x');
  EXPECT_THROW(mailbox.put(text), std::exception);
  EXPECT_EQ(mailbox.text(), std::nullopt);
}

}  // namespace
}  // namespace stepleak
