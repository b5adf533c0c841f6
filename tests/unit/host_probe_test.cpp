// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/host/host_probe.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <vector>

#include "tests/support/posix_shared_memory.hpp"

namespace stepleak {
namespace {

constexpr std::int64_t kBytes = 1 << 20;

std::int64_t shared_at(HostProbe& probe, std::int64_t step) {
  const auto keys = probe.keys();
  std::vector<std::int64_t> row(keys.size(), kUnread);
  probe.begin_step(step);
  probe.read(Moment::after_collection, row);
  return row.at(static_cast<std::size_t>(std::ranges::find(keys, SeriesKey{Counter::shared_bytes}) - keys.begin()));
}

// glibc keeps seven blocks of a size for each thread, and counts them as handed out.
TEST(HostHeapTest, CountsWhatTheThreadKeepsForItselfAsFree) {
  constexpr std::int64_t kSmallBytes = 200;
  const HostHeap heap;
  std::array<void*, 7> blocks{};
  for (auto*& block : blocks) block = std::malloc(kSmallBytes);
  const auto before = heap.bytes().in_use;
  for (auto* block : blocks) std::free(block);
  EXPECT_GE(before - heap.bytes().in_use, std::ssize(blocks) * kSmallBytes);
}

TEST(HostHeapTest, CountsWhatIsHeld) {
  constexpr std::int64_t kSmallBytes = 200;
  const HostHeap heap;
  const auto before = heap.bytes().in_use;
  std::array<void*, 7> blocks{};
  for (auto*& block : blocks) block = std::malloc(kSmallBytes);
  EXPECT_GE(heap.bytes().in_use - before, std::ssize(blocks) * kSmallBytes);
  for (auto* block : blocks) std::free(block);
}

TEST(HostProbeTest, LooksForSharedMemoryNowAndThen) {
  HostProbe probe;
  probe.start();
  ASSERT_EQ(shared_at(probe, 1), 0);
  EXPECT_EQ(shared_at(probe, 2), kUnread);
  const PosixSharedMemory shared(kBytes);
  EXPECT_EQ(shared_at(probe, 7), kUnread);
  EXPECT_EQ(shared_at(probe, 8), kBytes);
}

TEST(HostProbeTest, ReadsSharedMemoryAtEachBoundaryWhileThereIsAny) {
  HostProbe probe;
  probe.start();
  {
    const PosixSharedMemory first(kBytes);
    EXPECT_EQ(shared_at(probe, 1), kBytes);
    {
      const PosixSharedMemory second(kBytes);
      EXPECT_EQ(shared_at(probe, 2), 2 * kBytes);
    }
    EXPECT_EQ(shared_at(probe, 3), kBytes);
  }
  EXPECT_EQ(shared_at(probe, 4), 0);
  EXPECT_EQ(shared_at(probe, 5), kUnread);
}

}  // namespace
}  // namespace stepleak
