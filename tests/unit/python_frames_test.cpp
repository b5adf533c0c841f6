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

TEST(PythonFramesTest, ReadsNamesThatAreNotAscii) {
  const auto frames = parse_python_frames(
      "  File \"/mus\\xe9e/\\u4e2d/\\U0001f600/b\\udcff.py\", line 1 in gr\\xf6\\xdfe\n"
      "  File \"C:\\users\\x.py\", line 2 in step\n");
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0].file, "/mus\u00e9e/\u4e2d/\U0001f600/b\xff.py");
  EXPECT_EQ(frames[0].function, "gr\u00f6\u00dfe");
  EXPECT_EQ(frames[1].file, "C:\\users\\x.py");
}

TEST(PythonFramesTest, HasNoneWithoutAnInterpreter) {
  EXPECT_FALSE(holds_gil());
  EXPECT_TRUE(write_python_frames().empty());
}

}  // namespace
}  // namespace stepleak
