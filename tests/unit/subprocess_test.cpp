// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/base/subprocess.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <string>

#include "harness/base/errors.hpp"

namespace stepleak {
namespace {

TEST(RunProgramTest, HandsOverInputOfAnySize) {
  // More than a pipe and more than an argument can hold.
  const std::string input(4 << 20, 'x');
  const auto end = run_program({"cat"}, input);
  EXPECT_TRUE(end.is_success()) << end.error;
  EXPECT_EQ(end.output, input);
}

TEST(RunProgramTest, PassesArgumentsWithoutAShell) {
  const auto end = run_program({"printf", "%s|", "a b", "'", "$HOME"});
  EXPECT_EQ(end.output, "a b|'|$HOME|");
}

TEST(RunProgramTest, SaysWhyAProgramFailed) {
  EXPECT_EQ(run_program({"sh", "-c", "echo part; echo bad value >&2; exit 3"}).error, "exit code 3: bad value");
  EXPECT_EQ(run_program({"sh", "-c", "echo part; exit 3"}).output, "part\n");
  EXPECT_EQ(run_program({"sh", "-c", "kill -9 $$"}).error, "ended by signal 9");
  EXPECT_EQ(run_program({"sh", "-c", "echo part; exec sleep 600"}, {}, std::chrono::milliseconds(200)).error,
            "no end after 0.2 s");
  EXPECT_EQ(run_program({"sh", "-c", "echo part; exec sleep 600"}, {}, std::chrono::milliseconds(200)).output,
            "part\n");
  EXPECT_EQ(run_program({"a-program-that-is-not-there"}).error, "it does not start: No such file or directory");
}

// As `ulimit -f` sets it, for a test's time; what is refused is an error then, and no signal.
class LargestFile {
 public:
  explicit LargestFile(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  LargestFile(const LargestFile&) = delete;
  LargestFile& operator=(const LargestFile&) = delete;
  ~LargestFile() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    (void)std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = std::signal(SIGXFSZ, SIG_IGN);
};

TEST(RunProgramTest, SaysWhatToDoWhereFilesMayNotBeSoLarge) {
  const std::string input(4096, 'x');
  const LargestFile largest(2048);
  const auto refused = run_program({"cat"}, input);
  EXPECT_EQ(refused.error, "a file in memory: File too large");
  EXPECT_EQ(refused.remedy, kLargerFiles);
  const auto cut = run_program({"sh", "-c", "printf '%4096d' 1"});
  EXPECT_FALSE(cut.is_success());
  EXPECT_EQ(cut.remedy, kLargerFiles);
  const auto failed = run_program({"sh", "-c", "printf '%1024d' 1; exit 3"});
  EXPECT_EQ(failed.error, "exit code 3");
  EXPECT_EQ(failed.remedy, "");
}

// Ctrl-C goes to a whole group, and what was decided before it may need the program's answer to be written.
TEST(RunProgramTest, HasAGroupOfItsOwn) {
  const auto end = run_program({"sh", "-c", "cut -d ' ' -f 1,5 /proc/$$/stat"});
  const auto blank = end.output.find(' ');
  ASSERT_NE(blank, std::string::npos) << end.output << end.error;
  EXPECT_EQ(end.output.substr(blank + 1), end.output.substr(0, blank) + "\n");
}

TEST(RunProgramTest, TakesWhatIsPrintedToStderrForNoFailure) {
  const auto end = run_program({"sh", "-c", "echo careful >&2; echo done"});
  EXPECT_TRUE(end.is_success()) << end.error;
  EXPECT_EQ(end.output, "done\n");
}

}  // namespace
}  // namespace stepleak
