// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <deque>
#include <utility>

#include "tests/calibration/cases.hpp"

namespace stepleak {
namespace {

using Block = SyntheticMemory::Block;

constexpr std::int64_t kSmallest = 4;
constexpr std::int64_t kLargest = 1 << 26;

constexpr Structure kUnbounded{.type = StructureType::unbounded};

SyntheticProgram every(std::int64_t period, std::int64_t onset, Draws& draws) {
  const auto bytes = draws.magnitude(kSmallest, kLargest);
  const auto phase = draws.between(0, period - 1);
  const auto step = [=](std::int64_t step, SyntheticMemory& memory) {
    if (step >= onset && (step + phase) % period == 0) memory.keep(bytes);
  };
  return {.step = step, .structure = kUnbounded};
}

// A second phase, with more and with other state, that leaks.
SyntheticProgram after_phase(std::int64_t change, Draws& draws) {
  const auto bytes = draws.magnitude(kSmallest, kLargest);
  const auto state = draws.magnitude(1024, kLargest);
  const auto step = [=](std::int64_t step, SyntheticMemory& memory) {
    if (step == 1 || step == change) memory.hold(state);
    if (step >= change) memory.keep(bytes);
  };
  return {.step = step, .structure = kUnbounded};
}

SyntheticProgram error_path(Draws& draws) {
  const auto bytes = draws.magnitude(kSmallest, kLargest);
  const auto chance = 0.03 + 0.17 * draws.fraction();
  const auto step = [=, own = draws.fork()](std::int64_t, SyntheticMemory& memory) mutable {
    if (own.happens(chance)) memory.keep(bytes);
  };
  return {.step = step, .structure = kUnbounded};
}

SyntheticProgram random_sizes(Draws& draws) {
  const auto most = draws.magnitude(100, 1 << 20);
  const auto step = [=, own = draws.fork()](std::int64_t, SyntheticMemory& memory) mutable {
    memory.keep(own.between(4, most));
  };
  return {.step = step, .structure = kUnbounded};
}

// What is kept is small against what comes and goes.
SyntheticProgram under_random_load(Draws& draws) {
  const auto bytes = draws.magnitude(1024, 1 << 20);
  const auto load = bytes * draws.between(2, 50);
  const auto step = [=, own = draws.fork(), last = Block{0}](std::int64_t, SyntheticMemory& memory) mutable {
    memory.keep(bytes);
    memory.drop(std::exchange(last, memory.hold(own.between(4, load))));
  };
  return {.step = step, .structure = kUnbounded};
}

SyntheticProgram reborn_larger(Draws& draws) {
  const auto bytes = draws.magnitude(kSmallest, 1 << 16);
  return {.step = [=, last = Block{0}](std::int64_t step, SyntheticMemory& memory) mutable {
    memory.drop(std::exchange(last, memory.hold(bytes * step)));
  }};
}

// What is collected is cleared; of each tooth one block stays.
SyntheticProgram saw_tooth(std::int64_t teeth, Draws& draws) {
  const auto bytes = draws.magnitude(kSmallest, 1 << 20);
  const auto remainder = draws.magnitude(kSmallest, 1 << 20);
  const auto phase = draws.between(0, teeth - 1);
  const auto step = [=, kept = std::vector<Block>()](std::int64_t step, SyntheticMemory& memory) mutable {
    kept.push_back(memory.hold(bytes));
    if ((step + phase) % teeth != 0) return;
    for (const auto block : std::exchange(kept, {})) memory.drop(block);
    memory.keep(remainder);
  };
  return {.step = step, .structure = kUnbounded};
}

// What a warm-up gathered is dropped, and the gathering goes on.
SyntheticProgram cleared_once(std::int64_t latest, Draws& draws) {
  const auto bytes = draws.magnitude(kSmallest, 1 << 20);
  const auto at = draws.between(20, latest);
  const auto step = [=, kept = std::vector<Block>()](std::int64_t step, SyntheticMemory& memory) mutable {
    kept.push_back(memory.keep(bytes));
    if (step != at) return;
    for (const auto block : std::exchange(kept, {})) memory.drop(block);
  };
  return {.step = step, .structure = {.type = StructureType::conditional}};
}

SyntheticProgram beside_bounded_cache(std::int64_t bound, Draws& draws) {
  const auto bytes = draws.magnitude(kSmallest, 1 << 20);
  const auto cached = draws.magnitude(kSmallest, 1 << 20);
  const auto step = [=, cache = std::deque<Block>()](std::int64_t, SyntheticMemory& memory) mutable {
    memory.keep(bytes);
    cache.push_back(memory.hold(cached));
    if (static_cast<std::int64_t>(cache.size()) <= bound) return;
    memory.drop(cache.front());
    cache.pop_front();
  };
  return {.step = step, .structure = kUnbounded};
}

// What is lost is as large as the entries of a buffer whose slots are replaced at random.
SyntheticProgram beside_random_victims(std::int64_t period, Draws& draws) {
  const auto bound = draws.between(100, 600);
  const auto phase = draws.between(0, period - 1);
  const auto step = [=, own = draws.fork(), kept = std::vector<Block>()](std::int64_t step,
                                                                         SyntheticMemory& memory) mutable {
    if ((step + phase) % period == 0) memory.keep(own.between(200, 2000));
    kept.push_back(memory.hold(own.between(200, 2000)));
    if (static_cast<std::int64_t>(kept.size()) <= bound) return;
    const auto victim = own.between(0, bound);
    memory.drop(std::exchange(kept[static_cast<std::size_t>(victim)], kept.back()));
    kept.pop_back();
  };
  return {.step = step, .structure = kUnbounded};
}

// Asked before it is filled, by a key that never repeats.
SyntheticProgram new_keys(Draws& draws) {
  auto program = every(1, 1, draws);
  program.structure = {.type = StructureType::keyed};
  return program;
}

SyntheticProgram heap(std::int64_t period, Draws& draws) {
  const auto bytes = period * draws.magnitude(1400, 1 << 20);
  const auto phase = draws.between(0, period - 1);
  return {.step = [=](std::int64_t step, SyntheticMemory& memory) {
    if ((step + phase) % period == 0) memory.take_heap(bytes);
  }};
}

// What a start-up adds fades, and the leak does not.
SyntheticProgram heap_beside_start_up(Draws& draws) {
  const auto bytes = draws.magnitude(1400, 16384);
  const auto length = static_cast<double>(draws.between(60, 200));
  const auto more = static_cast<double>(bytes) * (0.5 + 2 * draws.fraction());
  return {.step = [=](std::int64_t step, SyntheticMemory& memory) {
    memory.take_heap(bytes + std::lround(more * std::exp(-static_cast<double>(step) / length)));
  }};
}

SyntheticProgram python_objects(Draws& draws) {
  const auto count = draws.magnitude(4, 200);
  const auto step = [=](std::int64_t, SyntheticMemory& memory) {
    memory.take_objects(count);
    memory.take_heap(count * 80);
  };
  return {.step = step, .structure = kUnbounded};
}

}  // namespace

std::vector<CalibrationCase> leaking_cases() {
  std::vector<CalibrationCase> cases;
  const auto add = [&](std::string name, auto draw, std::int64_t period = 0, std::int64_t onset = 0) {
    cases.push_back({.name = std::move(name), .is_leak = true, .period = period, .onset = onset, .draw = draw});
  };
  add("every step", [](Draws& draws) { return every(1, 1, draws); });
  for (const std::int64_t period : {7, 25, 60, 150}) {
    add(
        fmt::format("every {}th step", period), [=](Draws& draws) { return every(period, 1, draws); }, period);
  }
  for (const std::int64_t onset : {40, 120}) {
    add(
        fmt::format("from step {}", onset), [=](Draws& draws) { return every(1, onset, draws); }, 0, onset);
  }
  for (const std::int64_t change : {40, 200}) {
    add(
        fmt::format("after a phase change at step {}", change),
        [=](Draws& draws) { return after_phase(change, draws); }, 0, change);
  }
  add("on an error path, in 3 to 20 % of steps", error_path);
  add("of random sizes", random_sizes);
  add("under random load", under_random_load);
  add("one buffer reborn larger", reborn_larger);
  for (const std::int64_t teeth : {50, 120, 300}) {
    add(
        fmt::format("saw-tooth of {} with a remainder", teeth), [=](Draws& draws) { return saw_tooth(teeth, draws); },
        teeth);
  }
  for (const std::int64_t latest : {100, 200}) {
    add(fmt::format("cleared once by step {}", latest), [=](Draws& draws) { return cleared_once(latest, draws); });
  }
  for (const std::int64_t bound : {40, 300}) {
    add(fmt::format("beside a bounded cache of {}", bound),
        [=](Draws& draws) { return beside_bounded_cache(bound, draws); });
  }
  for (const std::int64_t period : {1, 10, 40}) {
    add(
        fmt::format("every {} steps beside random victims", period),
        [=](Draws& draws) { return beside_random_victims(period, draws); }, period);
  }
  add("dictionary whose keys never repeat", new_keys);
  add("host heap, every step", [](Draws& draws) { return heap(1, draws); });
  add(
      "host heap, every 10th step", [](Draws& draws) { return heap(10, draws); }, 10);
  add("host heap, beside a start-up that fades", heap_beside_start_up);
  add("Python objects, 4 to 200 a step", python_objects);
  return cases;
}

}  // namespace stepleak
