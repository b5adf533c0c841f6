// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/base/text.hpp"

#include <gtest/gtest.h>

namespace stepleak {
namespace {

constexpr const char* kReplacement = "\xef\xbf\xbd";

std::string replaced(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += kReplacement;
  return text;
}

TEST(PrintableTest, LeavesTextOfAllLanguagesAlone) {
  const std::string text = "a\tb\nz\xc3\xa9 \xd7\x90 \xe2\x82\xac \xf0\x9f\x98\x80 \xc2\xa0";
  EXPECT_EQ(printable(text), text);
}

TEST(PrintableTest, ShowsControlCharactersInTheirPlace) {
  EXPECT_EQ(printable("\x1b[2J\r\x7f"), "?[2J??");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a?b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m\xc2\x85"),
            "?31m?")
      << "C1, which terminals take for escape sequences";
}

TEST(PrintableTest, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(printable("\xff"), replaced(1));
  EXPECT_EQ(printable("\xe2\x82"), replaced(2)) << "cut";
  EXPECT_EQ(printable("\xed\xa0\x80"), replaced(3)) << "a lone surrogate";
  EXPECT_EQ(printable("\xc0\x9b"), replaced(2)) << "an overlong ESC";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), replaced(4)) << "beyond Unicode";
  EXPECT_EQ(printable("\x9b"), replaced(1)) << "a C1 byte alone";
}

TEST(PrintableTest, ReplacesWhatXmlCannotHold) {
  EXPECT_EQ(printable("\xef\xbf\xbe\xef\xbf\xbf"), replaced(2));
  EXPECT_EQ(printable("\xef\xbf\xbd"), kReplacement);
}

TEST(PrintableTest, LineHasNoLineFeed) {
  EXPECT_EQ(printable_line("a is clean\nb is clean"), "a is clean?b is clean");
  EXPECT_EQ(printable("a\nb"), "a\nb");
}

}  // namespace
}  // namespace stepleak
