// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// A main() in place of GoogleTest's own: with --gtest_repeat=64 each test of the binary is judged. Compiled with the
// tests, so that it fits their GoogleTest.

#include <stepleak/every_test.hpp>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace {

// glibc counts what its caches of each thread hold as in use: what one test frees another takes unseen, so the heap's
// growth would be told of the wrong one. The caches can be turned off only before a program starts.
void start_again_without_caches(const std::vector<char*>& arguments) {
  const int repeats = testing::GTEST_FLAG(repeat);
  if (repeats == 0 || repeats == 1 || testing::internal::InDeathTestChild()) return;
  if (::setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 0) != 0) return;
  if (std::string(std::getenv("GLIBC_TUNABLES")).find("tcache_count=0") == std::string::npos) return;
  if (::getenv("STEPLEAK_STARTED_AGAIN") != nullptr || ::setenv("STEPLEAK_STARTED_AGAIN", "1", 1) != 0) return;
  ::execv("/proc/self/exe", arguments.data());  // where that fails, the tests run as they are
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<char*> arguments(argv, argv + argc + 1);  // with the null at the end; GoogleTest takes its own out
  testing::InitGoogleTest(&argc, argv);
  if (stepleak::assertion::EveryTest::is_wanted()) start_again_without_caches(arguments);
  stepleak::Options options;
  if (const char* effort = std::getenv("STEPLEAK_EFFORT")) options.effort = effort;
  if (const char* device = std::getenv("STEPLEAK_DEVICE")) options.device = device;
  stepleak::watch_every_test(options);
  return RUN_ALL_TESTS();
}
