// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/cpp_units.hpp"

#include <gtest/gtest.h>

#include "harness/sources/tokens.hpp"

namespace stepleak {
namespace {

TEST(IncludesTest, AreTheNamesInQuotesAndAngles) {
  const auto found = includes_of("#include \"net.hpp\"\n  #  include <a/b.hpp> // and\n// #include \"not.hpp\"\n");
  EXPECT_EQ(found, (std::vector<std::string_view>{"net.hpp", "a/b.hpp"}));
}

TEST(IncludesTest, AreNotKnownOfMacrosAndModules) {
  EXPECT_EQ(includes_of("#include CONFIG_HEADER\n"), std::vector<std::string_view>{""});
  EXPECT_EQ(includes_of("int a;\nimport nets;\n"), std::vector<std::string_view>{""});
  EXPECT_TRUE(includes_of("int important = 1;  // import nets\n").empty());
}

CppUnits units() {
  return CppUnits({{"/p/one_test.cpp", {"gtest/gtest.h", "nets/net.hpp"}},
                   {"/p/other_test.cpp", {"../p/nets/net.hpp", "renamed/loop.hpp"}},
                   {"/p/third_test.cpp", {"gtest/gtest.h"}},
                   {"/p/generated_test.cpp", {""}},
                   {"/p/nets/net.hpp", {"layer.hpp"}},
                   {"/p/nets/layer.hpp", {}},
                   {"/p/src/loop.hpp", {}},
                   {"/p/src/layer.hpp", {}}});
}

TEST(UnitsTest, FilesShareOneWithWhatTheyInclude) {
  EXPECT_TRUE(units().may_share("/p/one_test.cpp", "/p/nets/net.hpp"));
  EXPECT_TRUE(units().may_share("/p/nets/layer.hpp", "/p/one_test.cpp"));
  EXPECT_FALSE(units().may_share("/p/one_test.cpp", "/p/src/loop.hpp"));
  EXPECT_FALSE(units().may_share("/p/third_test.cpp", "/p/nets/net.hpp"));
}

TEST(UnitsTest, SourcesShareNone) { EXPECT_FALSE(units().may_share("/p/one_test.cpp", "/p/other_test.cpp")); }

TEST(UnitsTest, HeadersShareOneWhereAnybodyIncludesBoth) {
  EXPECT_TRUE(units().may_share("/p/src/loop.hpp", "/p/nets/layer.hpp"));
}

TEST(UnitsTest, AnIncludeIsAnyFileOfThatNameWhereNoPathEndsSo) {
  EXPECT_TRUE(units().may_share("/p/other_test.cpp", "/p/src/loop.hpp"));
}

TEST(UnitsTest, MayShareWhatIsNotKnown) {
  EXPECT_TRUE(units().may_share("/p/one_test.cpp", "/elsewhere/net.hpp"));
  EXPECT_TRUE(units().may_share("/p/generated_test.cpp", "/p/src/loop.hpp"));
  EXPECT_FALSE(units().may_share("/p/third_test.cpp", "/p/src/loop.hpp"));
}

}  // namespace
}  // namespace stepleak
