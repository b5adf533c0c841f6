// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/base/subprocess.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "harness/base/errors.hpp"
#include "harness/base/memory_file.hpp"

namespace stepleak {
namespace {

constexpr std::size_t kMostErrorText = 200;

/// stdin, stdout and stderr of a program that is started.
class Redirections {
 public:
  Redirections(const MemoryFile& input, const MemoryFile& output, const MemoryFile& errors) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_adddup2(&actions_, input.descriptor(), STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, output.descriptor(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, errors.descriptor(), STDERR_FILENO);
  }
  Redirections(const Redirections&) = delete;
  Redirections& operator=(const Redirections&) = delete;
  ~Redirections() { ::posix_spawn_file_actions_destroy(&actions_); }

  [[nodiscard]] const posix_spawn_file_actions_t* actions() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

/// A group of its own: what the terminal sends is for us, who may still need the answer.
class OwnGroup {
 public:
  OwnGroup() {
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP);
  }
  OwnGroup(const OwnGroup&) = delete;
  OwnGroup& operator=(const OwnGroup&) = delete;
  ~OwnGroup() { ::posix_spawnattr_destroy(&attributes_); }

  [[nodiscard]] const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

struct ChildEnd {
  std::optional<int> status;  ///< none where another part of the process took it first, as a handler of SIGCHLD may
  bool is_late = false;
};

// Asked more and more rarely, a hundred times a second at last: a short program is not waited for longer than it takes.
ChildEnd end_of(pid_t child, std::chrono::milliseconds most) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  ChildEnd end;
  for (std::chrono::microseconds pause{50};; pause = std::min(pause * 2, std::chrono::microseconds{10'000})) {
    int status = 0;
    const auto waited = ::waitpid(child, &status, end.is_late ? 0 : WNOHANG);
    if (waited < 0 && errno != EINTR) return end;
    if (waited == child) {
      end.status = status;
      return end;
    }
    if (waited == 0 && Clock::now() - begin > most) {
      end.is_late = true;
      ::kill(child, SIGKILL);
    } else if (waited == 0) {
      std::this_thread::sleep_for(pause);
    }
  }
}

std::string error_of(const ChildEnd& end, std::chrono::milliseconds most, const std::string& printed) {
  if (end.is_late) return fmt::format("no end after {:g} s", std::chrono::duration<double>(most).count());
  const auto status = end.status;
  if (!status) return "nobody knows how it ended";
  if (WIFSIGNALED(*status)) return fmt::format("ended by signal {}", WTERMSIG(*status));
  if (WEXITSTATUS(*status) == 0) return {};
  const auto first_line = printed.substr(0, std::min(printed.find('\n'), kMostErrorText));
  return fmt::format("exit code {}{}{}", WEXITSTATUS(*status), first_line.empty() ? "" : ": ", first_line);
}

}  // namespace

ProgramEnd run_program(const std::vector<std::string>& arguments, std::string_view input,
                       std::chrono::milliseconds most) try {
  const MemoryFile in("stdin");
  const MemoryFile out("stdout");
  const MemoryFile errors("stderr");
  in.fill(input);
  std::vector<char*> words;
  for (const auto& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  const Redirections redirections(in, out, errors);
  pid_t child = 0;
  const int error =
      ::posix_spawnp(&child, words.front(), redirections.actions(), OwnGroup().attributes(), words.data(), environ);
  if (error != 0) return {{}, "it does not start: " + std::generic_category().message(error), {}};
  const auto end = end_of(child, most);
  auto why = error_of(end, most, errors.text());
  if (!why.empty() && (out.is_full() || errors.is_full())) return {out.text(), "its output is too large", kLargerFiles};
  return {out.text(), std::move(why), {}};
} catch (const Error& error) {
  return {{}, error.what(), error.remedy()};
}

}  // namespace stepleak
