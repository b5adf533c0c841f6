// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// What every probe keeps to. A new one is one line in probes(). Links torch and includes none of it.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "harness/probes/cuda/cuda_devices.hpp"
#include "harness/probes/cuda/cuda_watch.hpp"
#include "harness/probes/host/host_probe.hpp"
#include "harness/probes/step_clock.hpp"
#include "harness/probes/torch/cpu_allocator_probe.hpp"
#include "harness/probes/torch/graph_probe.hpp"
#include "harness/probes/torch/heap_probe.hpp"
#include "harness/probes/torch/stack_recorder.hpp"

namespace stepleak {
namespace {

constexpr std::int64_t kUnwritten = std::numeric_limits<std::int64_t>::min();

std::vector<std::unique_ptr<Probe>> probes() {
  const auto stacks = std::make_shared<StackTable>();
  std::vector<std::unique_ptr<Probe>> probes;
  probes.push_back(std::make_unique<HostProbe>());
  probes.push_back(std::make_unique<CpuAllocatorProbe>(stacks));
  probes.push_back(std::make_unique<GraphProbe>(stacks));
  probes.push_back(std::make_unique<GraphProbe>(stacks, GraphCoverage::record_pass));
  probes.push_back(std::make_unique<HeapProbe>(stacks));
  if (!ask_cuda().names.empty()) {
    for (auto& probe : watch_cuda(stacks, true)) probes.push_back(std::move(probe));
  }
  return probes;
}

// One boundary as the runner takes it.
std::vector<std::int64_t> read_boundary(Probe& probe, std::int64_t step) {
  current_step = step;
  probe.begin_step(step);
  probe.settle();
  std::vector<std::int64_t> row(probe.keys().size(), kUnwritten);
  probe.read(Moment::before_collection, row);
  probe.read(Moment::after_collection, row);
  return row;
}

class ProbeConformanceTest : public testing::TestWithParam<std::size_t> {
 protected:
  ProbeConformanceTest() : probes_(probes()) {}
  [[nodiscard]] Probe& probe() { return *probes_.at(GetParam()); }

 private:
  std::vector<std::unique_ptr<Probe>> probes_;
};

TEST_P(ProbeConformanceTest, HasANameAndUniqueColumns) {
  EXPECT_FALSE(probe().name().empty());
  const auto keys = probe().keys();
  EXPECT_EQ(std::set(keys.begin(), keys.end()).size(), keys.size());
  EXPECT_EQ(keys, probe().keys());
}

TEST_P(ProbeConformanceTest, FillsEachColumnAtItsMoment) {
  probe().start();
  const auto keys = probe().keys();
  current_step = 1;
  probe().begin_step(1);
  std::vector<std::int64_t> row(keys.size(), kUnwritten);
  probe().settle();  // where a run settles what is expensive is read, too
  probe().read(Moment::before_collection, row);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].moment == Moment::before_collection) {
      EXPECT_NE(row[i], kUnwritten) << to_string(keys[i]);
    }
  }
  probe().read(Moment::after_collection, row);
  for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_NE(row[i], kUnwritten) << to_string(keys[i]);
}

TEST_P(ProbeConformanceTest, CountsNothingOfAStepThatDoesNothing) {
  probe().start();
  (void)read_boundary(probe(), 1);
  const auto keys = probe().keys();
  const auto first = read_boundary(probe(), 2);
  const auto second = read_boundary(probe(), 3);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (is_exact(keys[i].counter)) {
      EXPECT_EQ(first[i], second[i]) << to_string(keys[i]);
    }
  }
}

TEST_P(ProbeConformanceTest, MayBeStartedAgain) {
  probe().start();
  (void)read_boundary(probe(), 1);
  probe().start();
  EXPECT_EQ(read_boundary(probe(), 1).size(), probe().keys().size());
}

TEST_P(ProbeConformanceTest, ExplainsNothingOfAStepThatDoesNothing) {
  probe().start();
  (void)read_boundary(probe(), 1);
  Recording recording{.pass = {.type = PassType::record, .first_step = 2, .planned_steps = 4, .records_heap = true},
                      .steps = 4};
  probe().begin_record(recording.pass);
  for (std::int64_t step = 2; step < 6; ++step) {
    probe().record_stacks(step % 2 == 0);
    (void)read_boundary(probe(), step);
  }
  probe().record_stacks(false);
  probe().end_record(recording);
  EXPECT_TRUE(recording.survivors.empty());
}

TEST_P(ProbeConformanceTest, TellsNoMoreThanItsLiveBlocks) {
  probe().start();
  probe().record_stacks(true);
  const auto row = read_boundary(probe(), 1);
  probe().record_stacks(false);
  Recording recording;
  probe().read_blocks(recording);
  std::map<Device, std::int64_t> told;
  for (const auto& survivor : recording.survivors) {
    EXPECT_EQ(survivor.type, SurvivorType::block);
    told[survivor.device] += survivor.bytes;
  }
  const auto keys = probe().keys();
  for (const auto& [device, bytes] : told) {
    const auto column = std::find(keys.begin(), keys.end(), SeriesKey{Counter::live_bytes, device});
    ASSERT_NE(column, keys.end());
    EXPECT_LE(bytes, row[static_cast<std::size_t>(column - keys.begin())]);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ProbeConformanceTest, testing::Range(std::size_t{0}, probes().size()));

}  // namespace
}  // namespace stepleak
