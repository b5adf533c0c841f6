// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/python_frames.hpp"

#include <gtest/gtest.h>

namespace stepleak {
namespace {

TEST(PythonFramesTest, ReadsEachFrame) {
  const auto frames = parse_python_frames(
      "Stack (most recent call first):\n"
      "  File \"/home/a b/train.py\", line 12 in step\n"
      "  File \"/x\", line 3 in y.py\", line 40 in <module>\n");
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0], (Frame{"/home/a b/train.py", 12, "step"}));
  EXPECT_EQ(frames[1], (Frame{"/x\", line 3 in y.py", 40, "<module>"}));
}

TEST(PythonFramesTest, LeavesOutWhatIsNoFrame) {
  EXPECT_TRUE(parse_python_frames("").empty());
  EXPECT_TRUE(parse_python_frames("Stack (most recent call first):\n  ...\n  File \"/cut, line 3\n").empty());
}

TEST(PythonFramesTest, HasNoneWithoutAnInterpreter) {
  EXPECT_FALSE(holds_gil());
  EXPECT_TRUE(write_python_frames().empty());
}

}  // namespace
}  // namespace stepleak
