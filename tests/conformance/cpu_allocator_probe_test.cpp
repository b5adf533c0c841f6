// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/torch/cpu_allocator_probe.hpp"

#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "harness/probes/step_clock.hpp"
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

// A sanitizer's malloc, as any other one, stands in front of the heap whose statistics the C library tells.
bool is_heap_told() {
  const auto before = ::mallinfo2().uordblks;
  const auto block = c10::GetCPUAllocator()->allocate(4096);
  return ::mallinfo2().uordblks > before;
}

/// Threads that allocate and free while it lives, as those of a data loader.
class BusyThreads {
 public:
  BusyThreads() {
    for (auto& thread : threads_) thread = std::thread([this] { allocate_and_free(); });
  }
  BusyThreads(const BusyThreads&) = delete;
  BusyThreads& operator=(const BusyThreads&) = delete;
  ~BusyThreads() {
    is_ending_ = true;
    for (auto& thread : threads_) thread.join();
  }

 private:
  void allocate_and_free() {
    auto* allocator = c10::GetCPUAllocator();
    std::array<c10::DataPtr, 16> live;
    for (std::size_t i = 0; !is_ending_; ++i) live.at(i % live.size()) = allocator->allocate(64);
  }

  std::atomic<bool> is_ending_{false};
  std::array<std::thread, 3> threads_;
};

// A run with a boundary of the screen pass, and a record pass.
void observe_a_run() {
  CpuAllocatorProbe probe(std::make_shared<StackTable>());
  probe.start();
  std::vector<std::int64_t> row(probe.keys().size());
  current_step = 1;
  probe.begin_step(1);
  probe.record_stacks(true);
  const auto block = c10::GetCPUAllocator()->allocate(64);
  probe.record_stacks(false);
  probe.read(Moment::before_collection, row);
  probe.read(Moment::after_collection, row);
  EXPECT_GE(row.at(2), 1);
  Recording recording;
  probe.begin_record({.type = PassType::record});
  probe.record_stacks(true);
  const auto recorded = c10::GetCPUAllocator()->allocate(64);
  probe.record_stacks(false);
  probe.read(Moment::before_collection, row);
  probe.read(Moment::after_collection, row);
  probe.end_record(recording);
}

TEST(CpuAllocatorProbeTest, ObservesWhileOtherThreadsAllocate) {
  observe_a_run();  // takes its place in front of torch's allocator
  const BusyThreads threads;
  for (int run = 0; run < 20; ++run) observe_a_run();
}

TEST(CpuAllocatorProbeTest, KeepsStacksOfLiveBlocksOnly) {
  if (!is_heap_told()) GTEST_SKIP() << "another malloc than the C library's";
  (void)growth_of_recorded_step(16);  // the first stack loads what unwinding needs
  const auto growth = growth_of_recorded_step(4000);
  EXPECT_GT(growth.at_most, 4000 * 2 * 64);
  EXPECT_LT(growth.at_end, growth.at_most / 4);
}

}  // namespace
}  // namespace stepleak
