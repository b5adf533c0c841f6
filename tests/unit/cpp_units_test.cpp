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

class UnitsTest : public testing::Test {
 protected:
  UnitsTest() {
    units_.add("/p/one_test.cpp", {"gtest/gtest.h", "nets/net.hpp"});
    units_.add("/p/other_test.cpp", {"../p/nets/net.hpp", "renamed/loop.hpp"});
    units_.add("/p/third_test.cpp", {"gtest/gtest.h"});
    units_.add("/p/nets/net.hpp", {"layer.hpp"});
    units_.add("/p/nets/layer.hpp", {});
    units_.add("/p/src/loop.hpp", {});
    units_.add("/p/src/layer.hpp", {});
  }

  CppUnits units_;
};

TEST_F(UnitsTest, FilesShareOneWithWhatTheyInclude) {
  EXPECT_TRUE(units_.may_share("/p/one_test.cpp", "/p/nets/net.hpp"));
  EXPECT_TRUE(units_.may_share("/p/nets/layer.hpp", "/p/one_test.cpp"));
  EXPECT_FALSE(units_.may_share("/p/one_test.cpp", "/p/src/loop.hpp"));
  EXPECT_FALSE(units_.may_share("/p/third_test.cpp", "/p/nets/net.hpp"));
}

TEST_F(UnitsTest, SourcesShareNone) { EXPECT_FALSE(units_.may_share("/p/one_test.cpp", "/p/other_test.cpp")); }

TEST_F(UnitsTest, HeadersShareOneWhereAnybodyIncludesBoth) {
  EXPECT_TRUE(units_.may_share("/p/src/loop.hpp", "/p/nets/layer.hpp"));
}

TEST_F(UnitsTest, AnIncludeIsAnyFileOfThatNameWhereNoPathEndsSo) {
  EXPECT_TRUE(units_.may_share("/p/other_test.cpp", "/p/src/loop.hpp"));
}

TEST_F(UnitsTest, MayShareWhatIsNotKnown) {
  EXPECT_TRUE(units_.may_share("/p/one_test.cpp", "/elsewhere/net.hpp"));
  units_.add("/p/generated_test.cpp", {""});
  EXPECT_TRUE(units_.may_share("/p/generated_test.cpp", "/p/src/loop.hpp"));
  EXPECT_FALSE(units_.may_share("/p/third_test.cpp", "/p/src/loop.hpp"));
}

}  // namespace
}  // namespace stepleak
