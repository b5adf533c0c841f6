// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// A main() in place of GoogleTest's own: with --gtest_repeat=64 each test of the binary is judged. Compiled with the
// tests, so that it fits their GoogleTest.

#include <stepleak/every_test.hpp>

#include <cstdlib>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  stepleak::Options options;
  if (const char* effort = std::getenv("STEPLEAK_EFFORT")) options.effort = effort;
  if (const char* device = std::getenv("STEPLEAK_DEVICE")) options.device = device;
  stepleak::watch_every_test(options);
  return RUN_ALL_TESTS();
}
