// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// GoogleTest assertions: `EXPECT_NO_GPU_LEAK(step)` repeats the step, judges it and fails with the report.
///
///   TEST(TrainerTest, KeepsNoMemory) {
///     Trainer trainer;                                      // the set-up
///     EXPECT_NO_GPU_LEAK([&] { trainer.step(); });
///     EXPECT_NO_GPU_LEAK([&] { trainer.step(); }, stepleak::Options{.effort = "quick"});
///   }
///
/// A failure looks like this:
///   trainer.cpp:41: Failure
///   TrainerTest.KeepsNoMemory leaks 1.0 KiB/step on cpu · graph_retention    stepleak 0.1.0 · 274 steps · 0.3 s
///     what    9 autograd nodes, kept by a tensor (float, 0-dim), survive every step since step 2
///     where   trainer.cpp:17 in Trainer::step      ...
///
/// Where no GPU is visible they judge CPU memory and the message says so. A step takes nothing, or the step
/// index (std::int64_t). Fails also where no verdict is reached. One that passes says nothing on the terminal; the
/// report of the last one of a test, with its limit and notes, is the test's property "stepleak" in `--gtest_output`.
/// Not to be used from two threads at once.

/// `stepleak::watch_every_test()` judges the tests that are there (stepleak/every_test.hpp). Under it a step of these
/// assertions runs once: the test is repeated as it is, and is judged whole.

/// C++17 and later. All of it is in this header, so it is for whichever GoogleTest you have.

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>

#include "stepleak/every_test.hpp"
#include "stepleak/stepleak.hpp"

namespace stepleak {

namespace v0 {

/// For messages of `EXPECT_EQ(result.verdict, ...)`.
inline void PrintTo(Verdict verdict, std::ostream* out) { *out << to_string(verdict); }
inline void PrintTo(Kind kind, std::ostream* out) { *out << to_string(kind); }

}  // namespace v0

/// Makes a step of a callable that takes nothing, or the step index.
template <typename Callable>
[[nodiscard]] Step to_step(Callable&& callable) {
  if constexpr (std::is_invocable_v<Callable&, std::int64_t>) {
    return Step(std::forward<Callable>(callable));
  } else {
    return [callable = std::forward<Callable>(callable)](std::int64_t) mutable { callable(); };
  }
}

namespace assertion {

inline std::string name_of(const char* text) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  return test == nullptr ? text : std::string(test->test_suite_name()) + "." + test->name();
}

inline std::string report_of(const Result& result) {
  const char* note = result.device == "cpu" ? "  (no GPU was watched: CPU memory was judged)\n" : "";
  return "\n" + result.report + note;
}

/// What a passing assertion has to say, its notes and its limit, becomes a property of the test in XML and JSON.
inline void keep_report(const Result& result) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  if (test != nullptr) testing::Test::RecordProperty("stepleak", result.report);
}

inline testing::AssertionResult failure_of(const Error& error) {
  return testing::AssertionFailure() << "\nstepleak: " << error.what() << "; " << error.remedy() << "\n";
}

/// Under a watch of every test a step is repeated by that.
[[nodiscard]] inline bool runs_once(const Step& step, bool expects_leak) {
  auto* watch = EveryTest::under_way();
  if (watch == nullptr) return false;
  if (expects_leak) watch->expect_leak();
  step(0);
  return true;
}

}  // namespace assertion

/// Success where the step is clean. `text`: the assertion's own text, unused where a test is running.
[[nodiscard]] inline testing::AssertionResult judge_no_leak(const char* text, const Step& step, Options options = {}) {
  try {
    if (assertion::runs_once(step, false)) return testing::AssertionSuccess();
    options.target = assertion::name_of(text);
    const auto result = check(step, options);
    if (!result.is_clean()) return testing::AssertionFailure() << assertion::report_of(result);
    assertion::keep_report(result);
    return testing::AssertionSuccess();
  } catch (const Error& error) {
    return assertion::failure_of(error);
  }
}

/// Success where the step leaks and `kind` is among its findings.
[[nodiscard]] inline testing::AssertionResult judge_leak(const char* text, const Step& step, Kind kind,
                                                         Options options = {}) {
  try {
    if (assertion::runs_once(step, true)) return testing::AssertionSuccess();
    options.target = assertion::name_of(text);
    const auto result = check(step, options);
    for (const auto& finding : result.findings) {
      if (result.verdict == Verdict::leak && finding.kind == kind) return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << "\nexpected a leak of kind " << to_string(kind)
                                       << ", but:" << assertion::report_of(result);
  } catch (const Error& error) {
    return assertion::failure_of(error);
  }
}

namespace assertion {

template <typename Callable, typename... Rest>
[[nodiscard]] testing::AssertionResult no_leak(const char* text, Callable&& callable, Rest&&... rest) {
  return judge_no_leak(text, to_step(std::forward<Callable>(callable)), std::forward<Rest>(rest)...);
}

template <typename Callable, typename... Rest>
[[nodiscard]] testing::AssertionResult leak(const char* text, Callable&& callable, Rest&&... rest) {
  return judge_leak(text, to_step(std::forward<Callable>(callable)), std::forward<Rest>(rest)...);
}

}  // namespace assertion
}  // namespace stepleak

/// (step) or (step, stepleak::Options{...}): fails unless the step is clean; the test goes on.
#define EXPECT_NO_GPU_LEAK(...) \
  GTEST_ASSERT_(::stepleak::assertion::no_leak(#__VA_ARGS__, __VA_ARGS__), GTEST_NONFATAL_FAILURE_)

/// The same, and the test ends where it fails.
#define ASSERT_NO_GPU_LEAK(...) \
  GTEST_ASSERT_(::stepleak::assertion::no_leak(#__VA_ARGS__, __VA_ARGS__), GTEST_FATAL_FAILURE_)

/// (step, kind) or (step, kind, options): fails unless the step leaks in this way.
#define EXPECT_GPU_LEAK(...) \
  GTEST_ASSERT_(::stepleak::assertion::leak(#__VA_ARGS__, __VA_ARGS__), GTEST_NONFATAL_FAILURE_)
