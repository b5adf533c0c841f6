// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/host/shared_memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "harness/base/process_pages.hpp"

namespace stepleak {
namespace {

constexpr std::size_t kBytes = 1 << 20;

void* map(int flags, int file) { return ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, flags, file, 0); }

TEST(SharedMemoryTest, CountsWhatIsMapped) {
  SharedMemory shared;
  const auto before = shared.bytes(process_pages().mapped);
  const auto name = "/stepleak-test-" + std::to_string(::getpid());
  const int file = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  ASSERT_GE(file, 0);
  ::shm_unlink(name.c_str());
  ASSERT_EQ(::ftruncate(file, kBytes), 0);
  void* memory = map(MAP_SHARED, file);
  ::close(file);
  EXPECT_EQ(shared.bytes(process_pages().mapped) - before, static_cast<std::int64_t>(kBytes));
  ::munmap(memory, kBytes);
  EXPECT_EQ(shared.bytes(process_pages().mapped), before);
}

TEST(SharedMemoryTest, IgnoresPrivateMemory) {
  SharedMemory shared;
  const auto before = shared.bytes(process_pages().mapped);
  void* memory = map(MAP_PRIVATE | MAP_ANONYMOUS, -1);
  EXPECT_EQ(shared.bytes(process_pages().mapped), before);
  ::munmap(memory, kBytes);
}

}  // namespace
}  // namespace stepleak
