// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

// stepleak::Watch in a loop of one's own, as an engineer writes it.

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "stepleak/stepleak.hpp"

namespace stepleak {
namespace {

Options quick() { return {.device = "cpu", .effort = "quick"}; }

/// A small training loop; the losses that it keeps are up to its caller.
struct Loop {
  at::Tensor weights = at::rand({16, 16}).requires_grad_();
  std::vector<at::Tensor> losses;

  at::Tensor train() {
    weights.mutable_grad() = at::Tensor();
    const auto loss = at::rand({4, 16}).matmul(weights).square().mean();
    loss.backward();
    return loss;
  }
};

TEST(WatchTest, FindsTheLeakOfALoopAndNamesItsLine) {
  Loop loop;
  Watch watch(quick());
  int steps = 0;
  do {
    loop.losses.push_back(loop.train());
    ++steps;
  } while (watch.step());
  const auto& result = watch.finish();
  ASSERT_EQ(result.verdict, Verdict::leak) << result.reason;
  EXPECT_EQ(result.findings.front().kind, Kind::graph_retention);
  ASSERT_FALSE(result.findings.front().where.empty());
  EXPECT_NE(result.findings.front().where.front().file.find("watch_test.cpp"), std::string::npos);
  EXPECT_EQ(result.steps, steps);
}

TEST(WatchTest, IsCleanWhereOnlyTheLastLossIsAlive) {
  Loop loop;
  Watch watch(quick());
  at::Tensor last;
  do last = loop.train();
  while (watch.step());
  EXPECT_EQ(watch.finish().verdict, Verdict::clean) << watch.finish().reason;
}

TEST(WatchTest, IsQuietOnceItHasDecided) {
  Loop loop;
  Watch watch(quick());
  while (watch.step()) loop.train();
  const auto steps = watch.finish().steps;
  for (int i = 0; i < 20; ++i) {
    loop.losses.push_back(loop.train());
    EXPECT_FALSE(watch.step());
  }
  EXPECT_EQ(watch.finish().steps, steps);
}

TEST(WatchTest, HasNoVerdictWhereTheLoopIsTooShort) {
  Loop loop;
  Watch watch(quick());
  for (int i = 0; i < 5; ++i) {
    loop.losses.push_back(loop.train());
    EXPECT_TRUE(watch.step());
  }
  EXPECT_EQ(watch.finish().verdict, Verdict::inconclusive);
  EXPECT_FALSE(watch.finish().reason.empty());
}

TEST(WatchTest, KeepsTheEvidenceOfALoopThatFailed) {
  Loop loop;
  Watch watch(quick());
  for (int i = 0; i < 5; ++i) {
    loop.train();
    watch.step();
  }
  watch.fail("no more batches");
  EXPECT_EQ(watch.finish().verdict, Verdict::failure);
  EXPECT_EQ(watch.finish().steps, 5);
  EXPECT_NE(watch.finish().failure.find("no more batches"), std::string::npos);
}

TEST(WatchTest, CallsBackOnceALeakIsFound) {
  Loop loop;
  std::vector<Verdict> called;
  Watch watch(quick(), [&](const Result& result) { called.push_back(result.verdict); });
  do loop.losses.push_back(loop.train());
  while (watch.step());
  EXPECT_EQ(called, std::vector{Verdict::leak});
  EXPECT_FALSE(watch.step());
  EXPECT_EQ(watch.finish().verdict, Verdict::leak);
  EXPECT_EQ(called.size(), 1U);
}

TEST(WatchTest, CallsNobodyBackWhereALoopIsClean) {
  Loop loop;
  Watch watch(quick(), [](const Result& result) { FAIL() << result.report; });
  while (watch.step()) loop.train();
  EXPECT_EQ(watch.finish().verdict, Verdict::clean);
}

TEST(WatchTest, LetsThroughWhatIsThrownAtALeak) {
  Loop loop;
  Watch watch(quick(), [](const Result& result) { throw std::runtime_error(result.report); });
  const auto run = [&] {
    do loop.losses.push_back(loop.train());
    while (watch.step());
  };
  EXPECT_THROW(run(), std::runtime_error);
  EXPECT_EQ(watch.finish().verdict, Verdict::leak);
}

TEST(WatchTest, SaysAtItsEndWhatNobodyAskedFor) {
  Loop loop;
  const auto said_by = [&](const auto& use) {
    testing::internal::CaptureStderr();
    {
      auto options = quick();
      options.target = "loop";
      Watch watch(options);
      use(watch);
    }
    return testing::internal::GetCapturedStderr();
  };
  const auto run = [&](Watch& watch) {
    while (watch.step()) loop.train();
  };
  const auto said = said_by(run);
  EXPECT_EQ(said.rfind("loop is clean on cpu", 0), 0U) << said;
  EXPECT_EQ(said.find('\n'), said.size() - 1) << said;
  EXPECT_EQ(said_by([&](Watch& watch) {
              run(watch);
              (void)watch.finish();
            }),
            "");
  EXPECT_EQ(said_by([](Watch& watch) { watch.step(); }), "") << "there was no verdict";
}

struct WatchFilesTest : testing::Test {
  WatchFilesTest() {
    options.json = (folder / "leak.json").string();
    options.html = (folder / "leak.html").string();
    options.trace = (folder / "leak.trace").string();
    std::filesystem::create_directories(folder);
  }
  ~WatchFilesTest() override {
    // Not remove_all(): libtorch exports one of its own, which calls what a newer libstdc++ no longer has.
    for (const auto& name : all) std::filesystem::remove(folder / name);
    std::filesystem::remove(folder);
  }

  [[nodiscard]] std::vector<std::string> written() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.file_size() > 0) names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("watch_files_" + std::to_string(::getpid()));
  const std::vector<std::string> all = {"leak.html", "leak.json", "leak.trace"};
  Options options = quick();
  Loop loop;
};

std::string text_of(const std::string& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST_F(WatchFilesTest, AreWrittenBeforeAnybodyIsCalled) {
  std::vector<std::string> seen;
  Watch watch(options, [&](const Result&) { seen = written(); });
  watch.mark(Mark::epoch);
  do {
    loop.losses.push_back(loop.train());
    if (loop.losses.size() == 10) watch.mark(Mark::evaluation);
  } while (watch.step());
  EXPECT_EQ(seen, all);
  EXPECT_EQ(text_of(options.json), watch.finish().json);
  EXPECT_NE(watch.finish().json.find(R"("evaluation")"), std::string::npos);
  EXPECT_NE(text_of(options.html).find("<html"), std::string::npos);
}

TEST_F(WatchFilesTest, AreWrittenOfALoopThatEndsUndecided) {
  { Watch(options).step(); }
  EXPECT_EQ(written(), all);
  EXPECT_NE(text_of(options.json).find(R"("inconclusive")"), std::string::npos);
}

TEST_F(WatchFilesTest, AreNotWrittenByAChildOfTheLoop) {
  Watch watch(options);
  watch.step();
  const auto child = ::fork();
  if (child == 0) {
    watch.~Watch();
    std::_Exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(written(), std::vector<std::string>{});
}

TEST_F(WatchFilesTest, AreRefusedBeforeTheLoopWhereTheyCannotBeWritten) {
  options.json = "/proc/leak.json";
  EXPECT_THROW(Watch{options}, Error);
  EXPECT_THROW((void)check([](std::int64_t) {}, options), Error);
}

TEST_F(WatchFilesTest, AreWrittenByACheckToo) {
  const auto result = check([&](std::int64_t) { loop.losses.push_back(loop.train()); }, options);
  EXPECT_EQ(result.verdict, Verdict::leak);
  EXPECT_EQ(written(), all);
  EXPECT_EQ(text_of(options.json), result.json);
}

TEST_F(WatchFilesTest, ThatFailAtTheEndAreSaidAndCostNoVerdict) {
  options.json = "/dev/full";
  testing::internal::CaptureStderr();
  const auto result = check([&](std::int64_t) { loop.losses.push_back(loop.train()); }, options);
  const auto said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(result.verdict, Verdict::leak);
  EXPECT_EQ(written(), (std::vector<std::string>{"leak.html", "leak.trace"}));
  EXPECT_NE(said.find("/dev/full"), std::string::npos) << said;
  ASSERT_FALSE(result.notes.empty());
  EXPECT_NE(result.notes.back().find("/dev/full"), std::string::npos);
}

TEST(WatchTest, RefusesWrongOptions) { EXPECT_THROW(Watch({.device = "cpu", .steps = 3}), Error); }

}  // namespace
}  // namespace stepleak
