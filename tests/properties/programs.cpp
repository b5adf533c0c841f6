// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/properties/programs.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "tests/support/draws.hpp"

namespace stepleak {
namespace {

using Block = SyntheticMemory::Block;

// The same number for the same part and step, whatever ran before.
std::int64_t random_size(const Part& part, std::int64_t step) {
  Draws draws(static_cast<std::uint64_t>(part.bytes * 1000003 + part.phase * 7919 + step));
  return draws.between(1, part.bytes);
}

/// One part as it runs: what it holds.
class RunningPart {
 public:
  explicit RunningPart(const Part& part) : part_(part) {}

  void run(std::int64_t step, SyntheticMemory& memory) {
    const bool is_turn = (step + part_.phase) % part_.period == 0;
    switch (part_.type) {
      case Part::Type::level:
        if (step == 1) memory.hold(part_.bytes);
        return;
      case Part::Type::late:
        if (step == part_.period) memory.hold(part_.bytes);
        return;
      case Part::Type::batch:
        replace(memory, memory.hold(part_.bytes * (1 + (step + part_.phase) % part_.period)));
        return;
      case Part::Type::random:
        replace(memory, memory.hold(random_size(part_, step)));
        return;
      case Part::Type::saw_tooth:
        held_.push_back(memory.hold(part_.bytes));
        if (is_turn) drop_all(memory);
        return;
      case Part::Type::visitor:
        drop_all(memory);
        if (is_turn) held_.push_back(memory.hold(part_.bytes));
        return;
    }
  }

 private:
  void replace(SyntheticMemory& memory, Block next) {
    drop_all(memory);
    held_.push_back(next);
  }
  void drop_all(SyntheticMemory& memory) {
    for (const auto block : held_) memory.drop(block);
    held_.clear();
  }

  Part part_;
  std::vector<Block> held_;
};

void leak_in(const Leak& leak, std::int64_t step, SyntheticMemory& memory) {
  if (step >= leak.onset && (step + leak.phase) % leak.period == 0) memory.keep(leak.bytes);
}

const char* name_of(Part::Type type) {
  static constexpr const char* kNames[] = {"level", "batch", "random", "saw-tooth", "visitor", "late"};
  return kNames[static_cast<std::size_t>(type)];
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Part& part) {
  fmt::print(out, "{} of {} B, period {}, phase {}", name_of(part.type), part.bytes, part.period, part.phase);
  return out;
}

std::ostream& operator<<(std::ostream& out, const Leak& leak) {
  fmt::print(out, "leak of {} B, period {}, phase {}, from step {}", leak.bytes, leak.period, leak.phase, leak.onset);
  return out;
}

SyntheticProgram program_of(const std::vector<Part>& parts, const std::vector<Leak>& leaks, std::uint64_t shuffle) {
  const std::vector<RunningPart> running(parts.begin(), parts.end());
  const auto step = [=, running = running, draws = Draws(shuffle)](std::int64_t step, SyntheticMemory& memory) mutable {
    std::vector<std::size_t> order(running.size() + leaks.size());
    std::iota(order.begin(), order.end(), 0U);
    for (auto i = order.size(); shuffle != 0 && i > 1; --i) {
      std::swap(order[i - 1], order[static_cast<std::size_t>(draws.between(0, static_cast<std::int64_t>(i) - 1))]);
    }
    for (const auto i : order) {
      if (i < running.size()) {
        running[i].run(step, memory);
      } else {
        leak_in(leaks[i - running.size()], step, memory);
      }
    }
  };
  return {.step = step, .structure = {.type = StructureType::unbounded}};
}

SyntheticProgram after_warm_up(const SyntheticProgram& program, std::int64_t steps) {
  auto later = program;
  later.step = [=](std::int64_t step, SyntheticMemory& memory) {
    if (step > steps) program.step(step - steps, memory);
  };
  return later;
}

rc::Gen<std::vector<Part>> healthy_parts(std::int64_t longest) {
  const auto type = rc::gen::element(Part::Type::level, Part::Type::batch, Part::Type::random, Part::Type::saw_tooth,
                                     Part::Type::visitor, Part::Type::late);
  const auto part = rc::gen::apply(
      [](Part::Type type, std::int64_t bytes, std::int64_t period, std::int64_t phase) {
        return Part{type, bytes, period, phase % period};
      },
      type, rc::gen::inRange<std::int64_t>(1, 1 << 20), rc::gen::inRange<std::int64_t>(1, longest + 1),
      rc::gen::inRange<std::int64_t>(0, longest));
  return rc::gen::mapcat(rc::gen::inRange<std::size_t>(1, 5),
                         [=](std::size_t count) { return rc::gen::container<std::vector<Part>>(count, part); });
}

std::string told_of(const Result& result) {
  auto text = fmt::format("{} after {} steps {}", to_string(result.verdict), result.steps, result.reason);
  for (const auto& finding : result.findings) {
    text += fmt::format("; {} {}, kept {}, {} {}", to_string(finding.kind), finding.what, finding.kept_count,
                        finding.holder, finding.fingerprint);
  }
  return text;
}

rc::Gen<Sources> any_sources() { return rc::gen::element(Sources::read, Sources::none); }

}  // namespace stepleak
