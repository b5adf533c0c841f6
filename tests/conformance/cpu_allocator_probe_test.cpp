// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/torch/cpu_allocator_probe.hpp"

#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <vector>

#include "harness/probes/torch/stack_recorder.hpp"

namespace stepleak {
namespace {

struct HeapGrowth {
  std::size_t at_most = 0;  ///< bytes that the heap held more while all blocks were live
  std::size_t at_end = 0;   ///< once they were freed
};

// A recorded step of the screen pass: blocks that are all live at once, and freed.
HeapGrowth growth_of_recorded_step(std::size_t blocks) {
  CpuAllocatorProbe probe(std::make_shared<StackTable>());
  probe.start();
  auto* allocator = c10::GetCPUAllocator();
  std::vector<c10::DataPtr> live;
  live.reserve(blocks);
  probe.record_stacks(true);
  const auto before = ::mallinfo2().uordblks;
  for (std::size_t i = 0; i < blocks; ++i) live.push_back(allocator->allocate(64));
  const auto at_most = ::mallinfo2().uordblks - before;
  live.clear();
  const auto at_end = ::mallinfo2().uordblks - before;
  probe.record_stacks(false);
  return {at_most, at_end};
}

TEST(CpuAllocatorProbeTest, KeepsStacksOfLiveBlocksOnly) {
  (void)growth_of_recorded_step(16);  // the first stack loads what unwinding needs
  const auto growth = growth_of_recorded_step(4000);
  EXPECT_GT(growth.at_most, 4000 * 2 * 64);
  EXPECT_LT(growth.at_end, growth.at_most / 4);
}

}  // namespace
}  // namespace stepleak
