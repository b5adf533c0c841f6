// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/leaf_lock.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace stepleak {
namespace {

// Whether a forked child gets the lock.
bool is_had_in_child(LeafLock& lock) {
  const auto child = ::fork();
  if (child == 0) {
    ::alarm(20);  // a child that hangs is killed
    ::_exit(lock.lock() ? 1 : 0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  return WEXITSTATUS(status) == 1;
}

TEST(LeafLockTest, LetsOneThreadInAtATime) {
  LeafLock lock;
  int count = 0;
  const auto work = [&] {
    for (int i = 0; i < 100'000; ++i) {
      const LeafGuard guard(lock);
      ASSERT_TRUE(static_cast<bool>(guard));
      ++count;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(count, 400'000);
}

TEST(LeafLockTest, DoesNotWaitForAHolderThatWasNotForked) {
  LeafLock lock;
  ASSERT_TRUE(lock.lock());
  EXPECT_FALSE(is_had_in_child(lock));
  lock.unlock();
  EXPECT_TRUE(lock.lock());
}

TEST(LeafLockTest, CanBeHadInAChildThatWasForkedWhileItWasFree) {
  LeafLock lock;
  ASSERT_TRUE(lock.lock());
  lock.unlock();
  EXPECT_TRUE(is_had_in_child(lock));
}

}  // namespace
}  // namespace stepleak
