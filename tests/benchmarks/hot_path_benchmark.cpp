// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

// The hot path: what watching costs an allocation and its free. Bar: 60 ns for both on one thread.
//   build/tests/benchmarks/hot_path_benchmark

#include <benchmark/benchmark.h>

#include "harness/analyse/trend.hpp"
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

// The same, at addresses that were never used before: shapes that change.
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
