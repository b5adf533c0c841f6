// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/base/subprocess.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <system_error>

namespace stepleak {
namespace {

constexpr std::size_t kMostErrorText = 200;

std::string reason_of(int error) { return std::generic_category().message(error); }

/// A file without a name; gone with its last descriptor.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : descriptor_(::memfd_create(name, MFD_CLOEXEC)) {}
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// What another process will read from its start.
  [[nodiscard]] bool write(std::string_view text) const {
    while (!text.empty()) {
      const auto written = ::write(descriptor_, text.data(), text.size());
      if (written < 0 && errno != EINTR) return false;
      if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    }
    return ::lseek(descriptor_, 0, SEEK_SET) == 0;
  }
  [[nodiscard]] std::string text() const {
    const auto size = ::lseek(descriptor_, 0, SEEK_END);
    std::string text(size > 0 ? static_cast<std::size_t>(size) : 0, '\0');
    std::size_t read = 0;
    while (read < text.size()) {
      const auto count = ::pread(descriptor_, text.data() + read, text.size() - read, static_cast<off_t>(read));
      if (count == 0 || (count < 0 && errno != EINTR)) break;
      if (count > 0) read += static_cast<std::size_t>(count);
    }
    text.resize(read);
    return text;
  }

 private:
  int descriptor_;
};

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

// None where another part of the process took the status first, as a handler of SIGCHLD may.
std::optional<int> status_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return std::nullopt;
  }
  return status;
}

std::string error_of(std::optional<int> status, const std::string& printed) {
  if (!status) return "nobody knows how it ended";
  if (WIFSIGNALED(*status)) return fmt::format("ended by signal {}", WTERMSIG(*status));
  if (WEXITSTATUS(*status) == 0) return {};
  const auto first_line = printed.substr(0, std::min(printed.find('\n'), kMostErrorText));
  return fmt::format("exit code {}{}{}", WEXITSTATUS(*status), first_line.empty() ? "" : ": ", first_line);
}

}  // namespace

ProgramEnd run_program(const std::vector<std::string>& arguments, std::string_view input) {
  const MemoryFile in("stdin");
  const MemoryFile out("stdout");
  const MemoryFile errors("stderr");
  if (in.descriptor() < 0 || out.descriptor() < 0 || errors.descriptor() < 0 || !in.write(input)) {
    return {{}, "no file in memory: " + reason_of(errno)};
  }
  std::vector<char*> words;
  for (const auto& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  const Redirections redirections(in, out, errors);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, words.front(), redirections.actions(), nullptr, words.data(), environ);
  if (error != 0) return {{}, "it does not start: " + reason_of(error)};
  const auto status = status_of(child);
  return {out.text(), error_of(status, errors.text())};
}

}  // namespace stepleak
