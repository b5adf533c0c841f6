// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/host/mappings.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "harness/base/mapped_memory.hpp"
#include "harness/base/process_pages.hpp"
#include "harness/trace/survivor.hpp"
#include "tests/support/posix_shared_memory.hpp"

namespace stepleak {
namespace {

constexpr std::size_t kBytes = 1 << 20;

void* map(int flags) { return ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, flags, -1, 0); }

MappedBytes bytes_of(Mappings& mappings) { return mappings.bytes(process_pages()); }

TEST(MappingsTest, CountsWhatIsShared) {
  Mappings mappings;
  const auto before = bytes_of(mappings);
  {
    const PosixSharedMemory shared(kBytes);
    const auto with_it = bytes_of(mappings);
    EXPECT_EQ(with_it.shared - before.shared, static_cast<std::int64_t>(kBytes));
    EXPECT_EQ(with_it.writable, before.writable);
  }
  EXPECT_EQ(bytes_of(mappings).shared, before.shared);
}

TEST(MappingsTest, CountsWhatCanBeWritten) {
  Mappings mappings;
  const auto before = bytes_of(mappings);
  for (const int flags : {MAP_PRIVATE | MAP_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS}) {
    void* memory = map(flags);
    const auto with_it = bytes_of(mappings);
    EXPECT_EQ(with_it.writable - before.writable, static_cast<std::int64_t>(kBytes));
    EXPECT_EQ(with_it.shared, before.shared);
    ::munmap(memory, kBytes);
    EXPECT_EQ(bytes_of(mappings).writable, before.writable);
  }
  void* reserved = ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_EQ(bytes_of(mappings).writable, before.writable);
  ::mprotect(reserved, kBytes, PROT_READ | PROT_WRITE);
  EXPECT_EQ(bytes_of(mappings).writable - before.writable, static_cast<std::int64_t>(kBytes));
  ::munmap(reserved, kBytes);
}

// As code that is generated for a new shape.
TEST(MappingsTest, LeavesOutWhatCanBeExecuted) {
  Mappings mappings;
  const auto of_malloc = std::int64_t{0};
  const auto before = mappings.bytes(process_pages(), of_malloc).writable;
  const auto rights = PROT_READ | PROT_WRITE;
  void* code = ::mmap(nullptr, kBytes, rights | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_EQ(mappings.bytes(process_pages(), of_malloc).writable, before);
  void* data = ::mmap(nullptr, kBytes, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_EQ(mappings.bytes(process_pages(), of_malloc).writable - before, static_cast<std::int64_t>(kBytes));
  ::munmap(code, kBytes);
  ::munmap(data, kBytes);
  EXPECT_EQ(mappings.bytes(process_pages(), of_malloc).writable, before);
}

TEST(MappingsTest, ReadsTheListWhereMallocDidNotMapWhatWasMapped) {
  constexpr auto kMore = static_cast<std::int64_t>(kBytes);
  Mappings mappings;
  auto pages = process_pages();
  const auto before = mappings.bytes(pages, 0).writable;
  const auto map_more = [&] {
    pages.mapped += kMore;
    pages.data += kMore;
  };
  map_more();
  EXPECT_EQ(mappings.bytes(pages, kMore).writable - before, kMore);  // taken from the numbers
  map_more();
  EXPECT_EQ(mappings.bytes(pages).writable - before, 2 * kMore);
  map_more();
  EXPECT_EQ(mappings.bytes(pages, 2 * kMore).writable, before);  // from the list: of two one was malloc's
}

TEST(MappingsTest, LeavesOutWhatWeKeepOurselves) {
  Mappings mappings;
  const auto before = bytes_of(mappings);
  const auto ours = own_mapped_bytes();
  {
    Cohorts cohorts;
    cohorts.reserve(kBytes / sizeof(Cohort));
    EXPECT_EQ(own_mapped_bytes() - ours, static_cast<std::int64_t>(kBytes));
    EXPECT_EQ(bytes_of(mappings).writable, before.writable);
  }
  EXPECT_EQ(own_mapped_bytes(), ours);
  EXPECT_EQ(bytes_of(mappings).writable, before.writable);
}

TEST(MappingsTest, ReadsTheListWhereMoreThanPrivateMemoryWasMapped) {
  constexpr auto kMore = static_cast<std::int64_t>(kBytes);
  Mappings mappings;
  auto pages = process_pages();
  const auto before = mappings.bytes(pages);
  pages.mapped += kMore;
  pages.data += kMore;
  EXPECT_EQ(mappings.bytes(pages).writable - before.writable, kMore);  // taken from the numbers
  pages.mapped += kMore;
  EXPECT_EQ(mappings.bytes(pages).writable, before.writable);  // from the list, where it is not
}

TEST(MappingsTest, SeesWhatBecameWritableAfterCheckWhereTheKernelDoesNotTellData) {
  const auto pages_of_gvisor = [] {
    auto pages = process_pages();
    pages.data = 0;
    return pages;
  };
  void* reserved = ::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Mappings mappings;
  const auto before = mappings.bytes(pages_of_gvisor());
  ::mprotect(reserved, kBytes, PROT_READ | PROT_WRITE);
  EXPECT_EQ(mappings.bytes(pages_of_gvisor()).writable, before.writable);  // as documented
  mappings.check();
  EXPECT_EQ(mappings.bytes(pages_of_gvisor()).writable - before.writable, static_cast<std::int64_t>(kBytes));
  ::munmap(reserved, kBytes);
}

TEST(MappingsTest, ChecksNoListWhereTheKernelTellsData) {
  constexpr auto kMore = static_cast<std::int64_t>(kBytes);
  Mappings mappings;
  auto pages = process_pages();
  const auto before = mappings.bytes(pages);
  pages.mapped += kMore;
  pages.data += kMore;
  mappings.check();
  EXPECT_EQ(mappings.bytes(pages).writable - before.writable, kMore);  // by the numbers; the list has none of it
}

}  // namespace
}  // namespace stepleak
