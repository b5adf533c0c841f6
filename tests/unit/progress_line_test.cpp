// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/progress_line.hpp"

#include <gtest/gtest.h>

namespace stepleak {
namespace {

constexpr std::size_t kWide = 200;

RunState running() {
  return {.ended = 3,
          .total = 9,
          .name = "kept_loss",
          .step = 48,
          .steps_per_second = 310.4,
          .live_bytes = {0, 1024, 2048, 3072}};
}

TEST(ProgressLineTest, SaysStepRateBytesAndWhatIsAwaited) {
  EXPECT_EQ(progress_line(running(), {}, kWide, true),
            "3 of 9 done · kept_loss · step 48 · 310 steps/s · cpu 3.0 KiB ▁▃▆█ · awaiting step 64 for clean");
}

TEST(ProgressLineTest, DrawsNothingWhereTheTerminalMayNotHaveTheCharacters) {
  const auto line = progress_line(running(), {}, kWide, false);
  EXPECT_EQ(line.find("█"), std::string::npos);
  EXPECT_NE(line.find("cpu 3.0 KiB · awaiting"), std::string::npos);
}

TEST(ProgressLineTest, LeavesOutTheLeastFirstWhereTheTerminalIsNarrow) {
  EXPECT_EQ(progress_line(running(), {}, 85, true),
            "3 of 9 done · kept_loss · step 48 · cpu 3.0 KiB · awaiting step 64 for clean");
  EXPECT_EQ(progress_line(running(), {}, 50, true), "3 of 9 done · kept_loss · step 48 · cpu 3.0 KiB");
  EXPECT_EQ(progress_line(running(), {}, 13, true), "3 of 9 done ·");
}

TEST(ProgressLineTest, DrawsALongRunInFewCharactersAndAFlatOneFlat) {
  auto state = running();
  state.live_bytes.assign(1000, 512);
  EXPECT_NE(progress_line(state, {}, kWide, true).find("512 B ▁▁▁▁▁▁▁▁▁▁▁▁ ·"), std::string::npos);
  state.live_bytes[999] = 1024;
  EXPECT_NE(progress_line(state, {}, kWide, true).find("▁▁▁▁▁▁▁▁▁▁▁█ ·"), std::string::npos);
}

TEST(ProgressLineTest, CountsASingleRunAndASlowStepInTheirOwnWords) {
  auto state = running();
  state.total = 1;
  state.steps_per_second = 0.02;
  state.live_bytes.clear();
  EXPECT_EQ(progress_line(state, {}, kWide, true), "kept_loss · step 48 · 50 s/step · awaiting step 64 for clean");
}

TEST(ProgressLineTest, AwaitsWhatThePolicyNeedsNext) {
  auto state = running();
  state.step = 0;
  EXPECT_EQ(awaited(state, {}), "awaiting the first step");
  state.step = 64;
  EXPECT_EQ(awaited(state, {}), "awaiting step 64 for clean");
  state.step = 65;
  EXPECT_EQ(awaited(state, {}), "moving: awaiting step 256 for a leak");
  state.step = 257;
  EXPECT_EQ(awaited(state, {}), "moving: awaiting step 1024, the last");
  state.step = 1025;
  EXPECT_EQ(awaited(state, {}), "moving: awaiting step 2048, the last");
  state.is_recorded = true;
  EXPECT_EQ(awaited(state, {}), "growing: recording who keeps it");
}

TEST(ProgressLineTest, TakesTheGpuWhereItHoldsSomethingElseTheHost) {
  const Device gpu{DeviceType::cuda, 0};
  Trace trace({}, {{Counter::live_bytes, kHost, Moment::after_collection},
                   {Counter::live_bytes, gpu, Moment::after_collection}});
  trace.add_boundary(std::vector<std::int64_t>{7, 0});
  RunState state;
  add_live_bytes(trace, state);
  EXPECT_EQ(state.device, kHost);
  trace.add_boundary(std::vector<std::int64_t>{7, 9});
  add_live_bytes(trace, state);
  EXPECT_EQ(state.device, gpu);
  EXPECT_EQ(state.live_bytes, (std::vector<std::int64_t>{0, 9}));
}

}  // namespace
}  // namespace stepleak
