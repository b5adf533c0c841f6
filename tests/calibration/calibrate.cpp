// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "tests/calibration/table.hpp"

namespace stepleak {
namespace {

// FNV-1a: a case keeps its draws whatever stands before it.
std::uint64_t seed_of(std::string_view name, std::int64_t draw) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211ULL;
  return hash + static_cast<std::uint64_t>(draw);
}

// A step as real ones are: the host heap trembles, and rises by less than a leak does.
SyntheticProgram with_noise(SyntheticProgram program, Draws& draws) {
  const auto drift = draws.between(0, 100);
  const auto tremble = draws.between(0, 2048);
  auto noisy = program;
  noisy.step = [=, own = draws.fork(), step = std::move(program.step), last = std::int64_t{0}](
                   std::int64_t number, SyntheticMemory& memory) mutable {
    const auto next = own.between(0, tremble);
    memory.take_heap(drift + next - std::exchange(last, next));
    step(number, memory);
  };
  return noisy;
}

Outcome outcome_of(const CalibrationCase& known, const Result& result) {
  const bool is_called_leak = result.verdict == Verdict::leak;
  if (result.verdict == Verdict::inconclusive) return Outcome::undecided;
  if (is_called_leak == known.is_leak) return Outcome::right;
  const bool is_excluded = known.period > result.limit.period_steps || known.onset > result.steps;
  return known.is_leak && is_excluded ? Outcome::unseen : Outcome::wrong;
}

std::string line_of(const Cell& cell, std::int64_t draw, const Result& result) {
  auto line = fmt::format("{}, draw {}: {} after {} steps ({} recorded passes)", cell.key(), draw,
                          to_string(result.verdict), result.steps, result.trace.recordings().size());
  for (const auto& finding : result.findings) {
    line += fmt::format("; {}: {} ({} of {} steps kept some)", to_string(finding.kind), finding.what,
                        finding.kept_count, finding.explained_steps);
  }
  return line;
}

Cell cell_of(const CalibrationCase& known, Sources sources, std::int64_t draws, const Policy& policy) {
  Cell cell{.name = known.name, .sources = sources, .is_leak = known.is_leak};
  std::vector<std::int64_t> steps;
  for (std::int64_t draw = 0; draw < draws; ++draw) {
    Draws numbers(seed_of(known.name, draw));
    const auto program = with_noise(known.draw(numbers), numbers);
    const auto result = run_synthetic(program, {.sources = sources, .policy = policy});
    const auto outcome = outcome_of(known, result);
    cell.outcomes.push_back(static_cast<char>(outcome));
    if (outcome == Outcome::wrong) cell.wrong.push_back(line_of(cell, draw, result));
    steps.push_back(result.steps);
  }
  std::nth_element(steps.begin(), steps.begin() + draws / 2, steps.end());
  cell.median_steps = steps[static_cast<std::size_t>(draws / 2)];
  return cell;
}

}  // namespace

std::vector<Cell> calibrate(std::int64_t draws, std::string_view part, const Policy& policy) {
  auto cases = healthy_cases();
  for (auto& leak : leaking_cases()) cases.push_back(std::move(leak));
  std::erase_if(cases, [&](const CalibrationCase& known) { return known.name.find(part) == std::string::npos; });
  std::vector<Cell> cells(2 * cases.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (auto i = next++; i < cells.size(); i = next++) {
      cells[i] = cell_of(cases[i / 2], i % 2 == 0 ? Sources::read : Sources::none, draws, policy);
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) threads.emplace_back(work);
  threads.clear();
  return cells;
}

}  // namespace stepleak
