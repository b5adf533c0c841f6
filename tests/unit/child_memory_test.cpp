// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/host/child_memory.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <vector>

#include "harness/explain/conclusion.hpp"
#include "harness/probes/host/child_probe.hpp"
#include "tests/support/trace_builder.hpp"

namespace stepleak {
namespace {

constexpr std::size_t kTaken = 16 << 20;
constexpr std::int64_t kKiBi = 1024;

// A process that has taken memory; with two generations it is a child's child that has.
class Child {
 public:
  explicit Child(std::size_t bytes, int generations = 1) {
    std::array<int, 2> ready{};
    EXPECT_EQ(::pipe(ready.data()), 0);
    process_ = ::fork();
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      take(bytes, generations, ready[1]);
    }
    ::close(ready[1]);
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
  }

 private:
  [[noreturn]] static void take(std::size_t bytes, int generations, int ready) {
    if (generations > 1) {
      const Child own(bytes, generations - 1);
      wait_for_the_end(ready);
    }
    const std::vector<char> taken(bytes, 'x');
    wait_for_the_end(ready);
  }
  [[noreturn]] static void wait_for_the_end(int ready) {
    EXPECT_EQ(::write(ready, "r", 1), 1);
    ::pause();
    ::_exit(0);
  }

  pid_t process_ = 0;
};

TEST(ChildMemoryTest, IsNoneWhereThereIsNoChild) { EXPECT_FALSE(child_memory_bytes().has_value()); }

TEST(ChildMemoryTest, CountsWhatAChildTook) {
  const Child idle(0);
  const auto before = child_memory_bytes();
  ASSERT_TRUE(before.has_value());
  const Child busy(kTaken);
  EXPECT_GE(*child_memory_bytes() - *before, static_cast<std::int64_t>(kTaken));
}

TEST(ChildMemoryTest, CountsTheChildrenOfChildren) {
  const Child parent(kTaken, 2);
  EXPECT_GE(child_memory_bytes().value_or(0), static_cast<std::int64_t>(kTaken));
}

TEST(ChildProbeTest, ReadsNothingBeforeTheFirstChildAndZeroAfterTheLast) {
  ChildProbe probe;
  std::vector<std::int64_t> row{kUnread};
  const auto read_at_look = [&](std::int64_t step) {
    row[0] = kUnread;
    probe.begin_step(step);
    probe.settle();
    probe.read(Moment::after_collection, row);
    return row[0];
  };
  probe.start();
  EXPECT_EQ(read_at_look(8), kUnread);
  {
    const Child child(kTaken);
    EXPECT_GE(read_at_look(16), static_cast<std::int64_t>(kTaken));
  }
  EXPECT_EQ(read_at_look(24), 0);
}

TEST(ChildProbeTest, ReadsAtLooksOnly) {
  const Child child(0);
  ChildProbe probe;
  probe.start();
  std::vector<std::int64_t> row{kUnread};
  probe.begin_step(9);
  probe.read(Moment::after_collection, row);
  EXPECT_EQ(row[0], kUnread);
}

// --- the note
// ---------------------------------------------------------------------------------------------------------

// At the looks of 128 steps, from the 16th on.
Result concluded(const std::function<std::int64_t(std::int64_t)>& bytes_at) {
  constexpr std::array kLooks{16, 24, 32, 48, 64, 96, 128};
  RunRecord record;
  record.trace =
      TraceBuilder(128)
          .with({Counter::live_bytes}, [](auto) { return 4096; })
          .with({Counter::children_bytes},
                [&](auto step) { return std::ranges::find(kLooks, step) == kLooks.end() ? kUnread : bytes_at(step); })
          .build();
  record.trace.add_look({});
  return conclude(record, {});
}

TEST(ChildNoteTest, SaysWhatChildrenGrowBy) {
  const auto result = concluded([](auto step) { return (1 << 30) + 100 * kKiBi * step; });
  EXPECT_EQ(result.verdict, Verdict::clean);
  ASSERT_EQ(result.notes.size(), 1U);
  EXPECT_TRUE(result.notes[0].starts_with("child processes grow by 100.0 KiB a step")) << result.notes[0];
}

TEST(ChildNoteTest, IsNoneOfWhatFillsOrMovesByLessThanAPage) {
  EXPECT_TRUE(
      concluded([](auto step) { return (1 << 30) + 100 * kKiBi * std::min<std::int64_t>(step, 40); }).notes.empty());
  EXPECT_TRUE(concluded([](auto step) { return (1 << 30) + 3 * kKiBi * step; }).notes.empty());
  EXPECT_TRUE(concluded([](auto) { return 1 << 30; }).notes.empty());
}

}  // namespace
}  // namespace stepleak
