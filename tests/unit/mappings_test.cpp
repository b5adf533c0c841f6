// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/host/mappings.hpp"

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

MappedBytes bytes_of(Mappings& mappings) { return mappings.bytes(process_pages().mapped); }

TEST(MappingsTest, CountsWhatIsShared) {
  Mappings mappings;
  const auto before = bytes_of(mappings);
  const auto name = "/stepleak-test-" + std::to_string(::getpid());
  const int file = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  ASSERT_GE(file, 0);
  ::shm_unlink(name.c_str());
  ASSERT_EQ(::ftruncate(file, kBytes), 0);
  void* memory = map(MAP_SHARED, file);
  ::close(file);
  const auto with_it = bytes_of(mappings);
  EXPECT_EQ(with_it.shared - before.shared, static_cast<std::int64_t>(kBytes));
  EXPECT_EQ(with_it.writable, before.writable);
  ::munmap(memory, kBytes);
  EXPECT_EQ(bytes_of(mappings).shared, before.shared);
}

TEST(MappingsTest, CountsWhatCanBeWritten) {
  Mappings mappings;
  const auto before = bytes_of(mappings);
  for (const int flags : {MAP_PRIVATE | MAP_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS}) {
    void* memory = map(flags, -1);
    const auto with_it = bytes_of(mappings);
    EXPECT_EQ(with_it.writable - before.writable, static_cast<std::int64_t>(kBytes));
    EXPECT_EQ(with_it.shared, before.shared);
    ::munmap(memory, kBytes);
    EXPECT_EQ(bytes_of(mappings).writable, before.writable);
  }
  void* reserved = ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_EQ(bytes_of(mappings).writable, before.writable);
  ::mprotect(reserved, kBytes, PROT_READ | PROT_WRITE);
  EXPECT_EQ(bytes_of(mappings).writable, before.writable);  // as documented
  mappings.forget();
  EXPECT_EQ(bytes_of(mappings).writable - before.writable, static_cast<std::int64_t>(kBytes));
  ::munmap(reserved, kBytes);
}

}  // namespace
}  // namespace stepleak
