// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "tests/calibration/cases.hpp"

namespace stepleak {
namespace {

using Block = SyntheticMemory::Block;
using Step = std::function<void(std::int64_t, SyntheticMemory&)>;

constexpr std::int64_t kSmallest = 64;
constexpr std::int64_t kLargest = 1 << 20;

Structure bounded_at(std::int64_t bound) { return {.type = StructureType::bounded, .bound = bound}; }

SyntheticProgram constant(Draws& draws) {
  const auto bytes = draws.magnitude(kSmallest, kLargest);
  return {.step = [=](std::int64_t step, SyntheticMemory& memory) {
    if (step == 1) memory.hold(bytes);
  }};
}

// The newest batch is alive at the boundary; its size is drawn anew.
SyntheticProgram batch_of(const std::function<std::int64_t(Draws&)>& size, Draws& draws) {
  return {.step = [=, own = draws.fork(), last = Block{0}](std::int64_t, SyntheticMemory& memory) mutable {
    const auto next = memory.hold(size(own));
    memory.drop(std::exchange(last, next));
  }};
}

SyntheticProgram random_batch(Draws& draws) {
  const auto low = draws.magnitude(kSmallest, 4096);
  const auto high = low * draws.between(2, 300);
  return batch_of([=](Draws& own) { return own.between(low, high); }, draws);
}

SyntheticProgram heavy_tailed_batch(Draws& draws) {
  const auto alpha = 1 + draws.fraction();
  return batch_of([=](Draws& own) { return own.heavy_tailed(1024, alpha, 1 << 26); }, draws);
}

// Requests come in bursts and stay for a while.
SyntheticProgram open_requests(Draws& draws) {
  const auto most = draws.between(1, 6);
  const auto stay = 1.0 / static_cast<double>(draws.between(3, 30));
  return {.step = [=, own = draws.fork(), open = std::vector<Block>()](std::int64_t, SyntheticMemory& memory) mutable {
    std::erase_if(open, [&](Block block) {
      const bool is_done = own.happens(stay);
      if (is_done) memory.drop(block);
      return is_done;
    });
    for (auto i = own.between(0, most); i > 0; --i) open.push_back(memory.hold(own.between(40, 8000)));
  }};
}

// As servers have them: most are short, and one in so many stays for hundreds of steps.
SyntheticProgram long_requests(Draws& draws) {
  const auto one_in = draws.between(5, 40);
  return {.step = [=, own = draws.fork(), open = std::multimap<std::int64_t, Block>()](
                      std::int64_t step, SyntheticMemory& memory) mutable {
    while (!open.empty() && open.begin()->first <= step) {
      memory.drop(open.begin()->second);
      open.erase(open.begin());
    }
    for (auto i = own.between(0, 2); i > 0; --i) {
      const bool is_long = own.between(1, one_in) == 1;
      open.emplace(step + (is_long ? own.between(50, 300) : own.between(1, 5)), memory.hold(own.between(40, 8000)));
    }
  }};
}

// A pool in which any slot is made anew, with a size that is drawn.
SyntheticProgram random_slots(Draws& draws) {
  const auto slots = static_cast<std::size_t>(draws.between(4, 40));
  return {.step = [=, own = draws.fork(), pool = std::vector<Block>()](std::int64_t, SyntheticMemory& memory) mutable {
    while (pool.size() < slots) pool.push_back(memory.hold(own.between(100, 10000)));
    auto& slot = pool[static_cast<std::size_t>(own.between(0, static_cast<std::int64_t>(slots) - 1))];
    memory.drop(std::exchange(slot, memory.hold(own.between(100, 10000))));
  }};
}

Step queue_of(std::int64_t bound, Draws& draws) {
  const auto bytes = draws.magnitude(kSmallest, kLargest);
  return [=, cache = std::deque<Block>()](std::int64_t, SyntheticMemory& memory) mutable {
    cache.push_back(memory.keep(bytes));
    if (static_cast<std::int64_t>(cache.size()) <= bound) return;
    memory.drop(cache.front());
    cache.pop_front();
  };
}

SyntheticProgram bounded_cache(std::int64_t bound, Draws& draws) {
  return {.step = queue_of(bound, draws), .structure = bounded_at(bound)};
}

SyntheticProgram bounded_somewhere(Draws& draws) {
  return {.step = queue_of(draws.between(40, 900), draws), .structure = bounded_at(-1)};
}

SyntheticProgram replay_of_random_sizes(Draws& draws) {
  const auto bound = draws.between(100, 600);
  const auto step = [=, own = draws.fork(), kept = std::vector<Block>()](std::int64_t,
                                                                         SyntheticMemory& memory) mutable {
    kept.push_back(memory.keep(own.between(200, 2000)));
    if (static_cast<std::int64_t>(kept.size()) <= bound) return;
    const auto victim = own.between(0, bound);
    memory.drop(std::exchange(kept[static_cast<std::size_t>(victim)], kept.back()));
    kept.pop_back();
  };
  return {.step = step, .structure = bounded_at(bound)};
}

SyntheticProgram saw_tooth(std::int64_t teeth, Draws& draws) {
  const auto bytes = draws.magnitude(kSmallest, kLargest);
  const auto phase = draws.between(0, teeth - 1);
  const auto step = [=, kept = std::vector<Block>()](std::int64_t step, SyntheticMemory& memory) mutable {
    kept.push_back(memory.keep(bytes));
    if ((step + phase) % teeth != 0) return;
    for (const auto block : kept) memory.drop(block);
    kept.clear();
  };
  return {.step = step, .structure = {.type = StructureType::reset}};
}

// Of each tooth one block stays until that of the next takes its place.
SyntheticProgram newest_example(Draws& draws) {
  const auto teeth = draws.between(20, 120);
  const auto phase = draws.between(0, teeth - 1);
  const auto step = [=, kept = std::vector<Block>(), example = Block{0}](std::int64_t step,
                                                                         SyntheticMemory& memory) mutable {
    kept.push_back(memory.keep(1024));
    if ((step + phase) % teeth != 0) return;
    memory.drop(std::exchange(example, kept.front()));
    kept.erase(kept.begin());
    for (const auto block : std::exchange(kept, {})) memory.drop(block);
  };
  return {.step = step, .structure = {.type = StructureType::reset}};
}

// One entry a key, where `key` draws what each step asks for.
SyntheticProgram keyed_by(const std::function<std::int64_t(std::int64_t, Draws&)>& key, Draws& draws) {
  const auto bytes = draws.magnitude(kSmallest, kLargest);
  const auto step = [=, own = draws.fork(), keys = std::set<std::int64_t>()](std::int64_t step,
                                                                             SyntheticMemory& memory) mutable {
    if (keys.insert(key(step, own)).second) memory.keep(bytes);
  };
  return {.step = step, .structure = {.type = StructureType::keyed}};
}

SyntheticProgram shapes(std::int64_t count, Draws& draws) {
  return keyed_by([=](std::int64_t, Draws& own) { return own.between(1, count); }, draws);
}

SyntheticProgram rare_shapes(Draws& draws) {
  return keyed_by([](std::int64_t, Draws& own) { return own.heavy_tailed(1, 1.0, 1000); }, draws);
}

SyntheticProgram cached_data_set(std::int64_t samples, Draws& draws) {
  return keyed_by([=](std::int64_t step, Draws&) { return step % samples; }, draws);
}

// Made once, at these steps.
SyntheticProgram made_at(const std::set<std::int64_t>& steps, std::int64_t blocks, Draws& draws) {
  const auto bytes = draws.magnitude(kSmallest, kLargest);
  return {.step = [=](std::int64_t step, SyntheticMemory& memory) {
    if (!steps.contains(step)) return;
    for (std::int64_t i = 0; i < blocks; ++i) memory.hold(bytes);
  }};
}

SyntheticProgram lazy_state(Draws& draws) { return made_at({1, 12, 50, 90}, draws.between(1, 6), draws); }

SyntheticProgram state_per_head(Draws& draws) {
  std::set<std::int64_t> steps;
  for (auto heads = draws.between(3, 16); heads > 0; --heads) steps.insert(draws.magnitude(1, 250));
  return made_at(steps, 4, draws);
}

SyntheticProgram unfrozen_layers(Draws& draws) {
  std::set<std::int64_t> steps;
  const auto every = draws.between(10, 25);
  for (std::int64_t step = 1; step <= 200; step += every) steps.insert(step);
  return made_at(steps, draws.between(2, 6), draws);
}

SyntheticProgram rising_batch(Draws& draws) {
  const auto bytes = draws.magnitude(4, 4096);
  const std::int64_t stairs[] = {1, 5, 10, 20, 40};
  const auto stair = stairs[draws.between(0, 4)];
  return {.step = [=, last = Block{0}](std::int64_t step, SyntheticMemory& memory) mutable {
    const auto rows = 1 + (std::min<std::int64_t>(step, 200) - 1) / stair;
    memory.drop(std::exchange(last, memory.hold(bytes * rows * stair)));
  }};
}

SyntheticProgram two_models(Draws& draws) {
  const auto turn = draws.between(5, 40);
  const auto bytes = draws.magnitude(kSmallest, kLargest);
  return {.step = [=, last = Block{0}](std::int64_t step, SyntheticMemory& memory) mutable {
    memory.drop(std::exchange(last, memory.hold(bytes * (1 + (step / turn) % 2))));
  }};
}

SyntheticProgram evaluation(Draws& draws) {
  const auto every = draws.between(20, 60);
  const auto lasts = draws.between(1, 5);
  return {.step = [=, outputs = std::vector<Block>()](std::int64_t step, SyntheticMemory& memory) mutable {
    if (step % every < lasts) {
      outputs.push_back(memory.hold(4096));
    } else {
      for (const auto block : std::exchange(outputs, {})) memory.drop(block);
    }
  }};
}

SyntheticProgram heap_of_rates(const std::function<double(std::int64_t)>& rate) {
  return {.step = [=](std::int64_t step, SyntheticMemory& memory) {
    memory.take_heap(static_cast<std::int64_t>(rate(step)));
  }};
}

SyntheticProgram logarithmic_heap(Draws& draws) {
  const auto bytes = static_cast<double>(draws.magnitude(50'000, 2'000'000));
  return heap_of_rates([=](std::int64_t step) { return bytes / static_cast<double>(step); });
}

SyntheticProgram saturating_heap(Draws& draws) {
  const auto bytes = static_cast<double>(draws.magnitude(1'000, 100'000));
  const auto half_life = static_cast<double>(draws.between(20, 200));
  return heap_of_rates([=](std::int64_t step) { return bytes * std::exp2(-static_cast<double>(step) / half_life); });
}

// NCCL's and gloo's flight recorders.
SyntheticProgram flight_recorder(Draws& draws) {
  const auto entries = draws.between(1500, 3700);
  return heap_of_rates([=](std::int64_t step) { return step <= entries ? 900.0 : 0.0; });
}

SyntheticProgram log_of_numbers(Draws& draws) {
  const auto bytes = static_cast<double>(draws.between(33, 190));
  return heap_of_rates([=](std::int64_t) { return bytes; });
}

SyntheticProgram late_threads(Draws& draws) {
  std::set<std::int64_t> steps;
  for (auto threads = draws.between(1, 6); threads > 0; --threads) steps.insert(draws.between(2, 250));
  const auto bytes = static_cast<double>(draws.magnitude(10'000, 500'000));
  return heap_of_rates([=](std::int64_t step) { return steps.contains(step) ? bytes : 0.0; });
}

// Libraries keep a plan for each length that they meet.
SyntheticProgram plan_caches(Draws& draws) {
  const auto plan = draws.between(1500, 6000);
  const auto alpha = 1 + draws.fraction();
  const auto step = [=, own = draws.fork(), last = Block{0}, met = std::set<std::int64_t>()](
                        std::int64_t, SyntheticMemory& memory) mutable {
    const auto length = own.heavy_tailed(4, alpha, 400);
    memory.drop(std::exchange(last, memory.hold(length * 128)));
    if (met.insert(length).second) memory.take_heap(plan);
  };
  return {.step = step};
}

CalibrationCase healthy(std::string name, std::function<SyntheticProgram(Draws&)> draw) {
  return {.name = std::move(name), .draw = std::move(draw)};
}

}  // namespace

std::vector<CalibrationCase> healthy_cases() {
  std::vector<CalibrationCase> cases{healthy("constant", constant),
                                     healthy("one batch of random size", random_batch),
                                     healthy("one batch, heavy-tailed size", heavy_tailed_batch),
                                     healthy("open requests", open_requests),
                                     healthy("open requests, few for 50 to 300 steps", long_requests),
                                     healthy("random slots of a pool", random_slots)};
  for (const std::int64_t bound : {40, 300, 1000, 5000}) {
    cases.push_back(
        healthy(fmt::format("bounded cache of {}", bound), [=](Draws& draws) { return bounded_cache(bound, draws); }));
  }
  cases.push_back(healthy("bounded cache, number not known", bounded_somewhere));
  cases.push_back(healthy("replay of random sizes, random victims", replay_of_random_sizes));
  for (const std::int64_t teeth : {50, 120, 300}) {
    cases.push_back(
        healthy(fmt::format("saw-tooth of {}", teeth), [=](Draws& draws) { return saw_tooth(teeth, draws); }));
  }
  cases.push_back(healthy("saw-tooth of 20 to 120 with its newest example", newest_example));
  for (const std::int64_t count : {20, 200}) {
    cases.push_back(
        healthy(fmt::format("dictionary of {} shapes", count), [=](Draws& draws) { return shapes(count, draws); }));
  }
  cases.push_back(healthy("dictionary of rare shapes", rare_shapes));
  for (const std::int64_t samples : {150, 400, 900}) {
    cases.push_back(healthy(fmt::format("data set of {} cached in its first epoch", samples),
                            [=](Draws& draws) { return cached_data_set(samples, draws); }));
  }
  cases.push_back(healthy("state made at steps 1, 12, 50, 90", lazy_state));
  cases.push_back(healthy("state per head, at random steps", state_per_head));
  cases.push_back(healthy("layers unfrozen until step 200", unfrozen_layers));
  cases.push_back(healthy("batch size that rises until step 200", rising_batch));
  cases.push_back(healthy("two models in turn", two_models));
  cases.push_back(healthy("evaluation every 20 to 60 steps", evaluation));
  cases.push_back(healthy("host heap fills logarithmically", logarithmic_heap));
  cases.push_back(healthy("host heap fills exponentially", saturating_heap));
  cases.push_back(healthy("host heap +900 B until step 1,500 to 3,700", flight_recorder));
  cases.push_back(healthy("log of numbers, 33 to 190 B a step", log_of_numbers));
  cases.push_back(healthy("pool of threads that grows late", late_threads));
  cases.push_back(healthy("library plans per length", plan_caches));
  return cases;
}

}  // namespace stepleak
