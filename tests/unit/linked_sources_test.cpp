// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/sources/linked_sources.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "harness/base/files.hpp"

namespace stepleak {
namespace {

TEST(LinkedSourcesTest, HasWhatTheProgramWasCompiledFrom) {
  const auto linked = linked_sources();
  EXPECT_TRUE(linked.contains("linked_sources_test.cpp"));
  EXPECT_TRUE(linked.contains("linked_sources.cpp"));
  EXPECT_FALSE(linked.contains("one_of_no_program.cpp"));
  EXPECT_FALSE(linked.contains("linked_sources.hpp"));
}

TEST(LinkedSourcesTest, ReadsNoObjectThatIsCutOrNone) {
  EXPECT_TRUE(sources_named_in("").empty());
  EXPECT_TRUE(sources_named_in("\x7f"
                               "ELF")
                  .empty());
  EXPECT_TRUE(sources_named_in(std::string(1 << 10, 'x')).empty());
  const auto own = read_file("/proc/self/exe");
  ASSERT_FALSE(sources_named_in(own).empty());
  const std::string_view whole = own;
  for (const std::size_t size : {std::size_t{16}, std::size_t{63}, std::size_t{64}, own.size() / 2, own.size() - 1}) {
    EXPECT_NO_THROW((void)sources_named_in(whole.substr(0, size)));
  }
}

TEST(LinkedSourcesTest, KnowsWhatIsCompiledByItself) {
  EXPECT_TRUE(is_unit_of_cpp("train/step.cpp"));
  EXPECT_TRUE(is_unit_of_cpp("step.cc"));
  EXPECT_FALSE(is_unit_of_cpp("step.hpp"));
  EXPECT_FALSE(is_unit_of_cpp("kernels.cu"));
}

}  // namespace
}  // namespace stepleak
