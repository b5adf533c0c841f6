// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/drive/server_threads.hpp"

#include <gtest/gtest.h>

#include "harness/base/errors.hpp"

namespace stepleak {
namespace {

Error error_of(const std::vector<std::string>& names) {
  try {
    expect_one_thread(names);
  } catch (const Error& error) {
    return error;
  }
  return failure_error("none");
}

TEST(ServerThreadsTest, OneIsAsItShallBe) { EXPECT_STREQ(error_of({"stepleak"}).what(), "none"); }

TEST(ServerThreadsTest, NamesWhatAnyOtherOneIsOf) {
  const auto error = error_of({"stepleak", "worker", "worker"});
  EXPECT_STREQ(error.what(), "the server has 3 threads (stepleak, worker, worker) and cannot fork safely");
  EXPECT_NE(error.remedy().find("sitecustomize.py"), std::string::npos);
  EXPECT_EQ(error.code(), ExitCode::failure);
}

TEST(ServerThreadsTest, SaysHowToSwitchJemallocsThreadOff) {
  const auto error = error_of({"stepleak", "jemalloc_bg_thd"});
  EXPECT_NE(error.remedy().find("MALLOC_CONF=background_thread:false"), std::string::npos);
  EXPECT_EQ(error.remedy().find("OPENBLAS"), std::string::npos);
}

TEST(ServerThreadsTest, FindsThisProcess) {
  // ThreadSanitizer has a thread of its own.
  ASSERT_GE(thread_names().size(), 1U);
  EXPECT_FALSE(thread_names().front().empty());
}

}  // namespace
}  // namespace stepleak
