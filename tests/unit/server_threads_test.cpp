// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/drive/server_threads.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

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

TEST(ServerThreadsTest, WaitsForTheNameThatAThreadGivesItself) {
  std::atomic<bool> done{false};
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    pthread_setname_np(pthread_self(), "late_name");
    while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  const auto names = own_thread_names();
  done = true;
  late.join();
  EXPECT_NE(std::find(names.begin(), names.end(), "late_name"), names.end());
}

TEST(ServerThreadsTest, DoesNotWaitForANameThatNeverComes) {
  std::atomic<bool> done{false};
  std::thread nameless([&] {
    while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  const auto names = own_thread_names();
  done = true;
  nameless.join();
  EXPECT_EQ(names.back(), names.front());
}

}  // namespace
}  // namespace stepleak
