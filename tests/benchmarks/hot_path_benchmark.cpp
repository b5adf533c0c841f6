// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

// The hot path: what watching costs an allocation and its free. Bar: 60 ns for both on one thread.
//   build/tests/benchmarks/hot_path_benchmark

#include <benchmark/benchmark.h>

#include <chrono>
#include <vector>

#include "harness/analyse/trend.hpp"
#include "harness/probes/block_log.hpp"
#include "harness/probes/block_table.hpp"

namespace stepleak {
namespace {

BlockTable& table() {
  static BlockTable instance;
  return instance;
}

// A step's working set: each thread frees the oldest of its live blocks and allocates at that address again.
void allocate_and_free(benchmark::State& state) {
  const auto live = static_cast<std::uintptr_t>(state.range(0));
  const auto base = (static_cast<std::uintptr_t>(state.thread_index()) + 1) << 32;
  for (std::uintptr_t i = 0; i < live; ++i) table().insert({base + 64 * i, 64, 1});
  std::uintptr_t i = 0;
  for (auto _ : state) {
    table().erase(base + 64 * i);
    table().insert({base + 64 * i, 64, 2});
    i = i + 1 == live ? 0 : i + 1;
  }
  for (i = 0; i < live; ++i) table().erase(base + 64 * i);
}
BENCHMARK(allocate_and_free)->Arg(400)->Arg(20000)->Threads(1)->Threads(2);

// As a device's allocator tells a step: what is made is freed in it, and the step's own work takes the caches between
// two events. Only the events' time counts.
constexpr std::int64_t kBlocksOfStep = 220;

void take_caches() {
  constexpr std::size_t kWork = std::size_t{1} << 15;
  static std::vector<char> memory(std::size_t{1} << 26);
  static std::size_t at = 0;
  for (std::size_t i = 0; i < kWork; i += 64) benchmark::DoNotOptimize(++memory[at + i]);
  at = (at + kWork) % memory.size();
}

template <typename Event>
double seconds_of(const Event& event) {
  take_caches();
  const auto start = std::chrono::steady_clock::now();
  event();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void step_into_table(benchmark::State& state) {
  BlockTable blocks(1 << 12);
  for (auto _ : state) {
    double seconds = 0;
    for (std::uintptr_t i = 1; i <= kBlocksOfStep; ++i) seconds += seconds_of([&] { blocks.insert({i << 16, 64, 1}); });
    for (std::uintptr_t i = 1; i <= kBlocksOfStep; ++i) seconds += seconds_of([&] { blocks.erase(i << 16); });
    state.SetIterationTime(seconds);
  }
}
BENCHMARK(step_into_table)->UseManualTime();

void step_into_log(benchmark::State& state) {
  BlockTable blocks(1 << 12);
  BlockLog log(blocks);
  for (auto _ : state) {
    double seconds = 0;
    for (std::uintptr_t i = 1; i <= kBlocksOfStep; ++i) seconds += seconds_of([&] { log.made({i << 16, 64, 1}); });
    for (std::uintptr_t i = 1; i <= kBlocksOfStep; ++i) seconds += seconds_of([&] { log.freed(i << 16, 64); });
    state.SetIterationTime(seconds);
  }
}
BENCHMARK(step_into_log)->UseManualTime();

// As allocate_and_free, at addresses that were never used before: shapes that change.
void allocate_and_free_elsewhere(benchmark::State& state) {
  const auto live = static_cast<std::uintptr_t>(state.range(0));
  const auto base = (static_cast<std::uintptr_t>(state.thread_index()) + 1) << 44;
  for (std::uintptr_t i = 0; i < live; ++i) table().insert({base + 64 * i, 64, 1});
  std::uintptr_t i = 0;
  for (auto _ : state) {
    table().erase(base + 64 * i);
    table().insert({base + 64 * (i + live), 64, 2});
    ++i;
  }
  for (auto last = i + live; i < last; ++i) table().erase(base + 64 * i);
}
BENCHMARK(allocate_and_free_elsewhere)->Arg(400)->Arg(20000)->Threads(1)->Threads(2);

void judge_a_ledger(benchmark::State& state) {
  std::vector<std::int64_t> values;
  for (std::int64_t step = 0; step < state.range(0); ++step) values.push_back(step % 7 * 1000 + step / 50);
  for (auto _ : state) benchmark::DoNotOptimize(trend_of(values));
}
BENCHMARK(judge_a_ledger)->Arg(64)->Arg(1024);

}  // namespace
}  // namespace stepleak

BENCHMARK_MAIN();
