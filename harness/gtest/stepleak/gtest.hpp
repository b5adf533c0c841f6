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
/// index (std::int64_t). Fails also where no verdict is reached. Not to be used from two threads at once.

#include <gtest/gtest.h>

#include <concepts>
#include <utility>

#include "harness/api/check.hpp"
#include "harness/trace/finding.hpp"

namespace stepleak {

/// Makes a step of a callable that takes nothing, or the step index.
template <typename Callable>
[[nodiscard]] Step to_step(Callable&& callable) {
  if constexpr (std::invocable<Callable&, std::int64_t>) {
    return Step(std::forward<Callable>(callable));
  } else {
    return [callable = std::forward<Callable>(callable)](std::int64_t) mutable { callable(); };
  }
}

/// Success where the step is clean. `text`: the assertion's own text, unused where a test is running.
[[nodiscard]] testing::AssertionResult judge_no_leak(const char* text, const Step& step, Options options = {});

/// Success where the step leaks and `kind` is among its findings.
[[nodiscard]] testing::AssertionResult judge_leak(const char* text, const Step& step, Kind kind, Options options = {});

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
