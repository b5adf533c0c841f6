// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// A container whose bound is known is never called a leak.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <deque>

#include "tests/properties/programs.hpp"
#include "tests/support/draws.hpp"

namespace stepleak {
namespace {

struct Cache {
  std::int64_t bound = 1;
  std::int64_t most_bytes = 1;
  std::int64_t every = 1;    ///< steps from one filling to the next
  std::int64_t at_once = 1;  ///< entries that it adds
};

Cache any_cache() {
  return {.bound = *rc::gen::inRange<std::int64_t>(1, 2000),
          .most_bytes = *rc::gen::inRange<std::int64_t>(1, 1 << 20),
          .every = *rc::gen::inRange<std::int64_t>(1, 8),
          .at_once = *rc::gen::inRange<std::int64_t>(1, 4)};
}

SyntheticProgram program_of(const Cache& cache, bool is_fixed_size) {
  const auto step = [=, draws = Draws(1), kept = std::deque<SyntheticMemory::Block>()](
                        std::int64_t step, SyntheticMemory& memory) mutable {
    if (step % cache.every != 0) return;
    for (std::int64_t i = 0; i < cache.at_once; ++i) {
      kept.push_back(memory.keep(is_fixed_size ? cache.most_bytes : draws.between(1, cache.most_bytes)));
      if (static_cast<std::int64_t>(kept.size()) <= cache.bound) continue;
      memory.drop(kept.front());
      kept.pop_front();
    }
  };
  return {.step = step, .structure = {.type = StructureType::bounded, .bound = cache.bound}};
}

RC_GTEST_PROP(BoundTest, ACacheOfAKnownBoundIsNeverALeak, ()) {
  const auto cache = any_cache();
  const auto effort = *rc::gen::element(Effort::quick, Effort::standard);
  const bool is_fixed_size = *rc::gen::arbitrary<bool>();
  RC_LOG() << "cache: bound " << cache.bound << ", up to " << cache.most_bytes << " B, " << cache.at_once << " every "
           << cache.every << " steps\n";
  const auto result = run_synthetic(program_of(cache, is_fixed_size), {.policy = policy_of(effort)});
  RC_LOG() << told_of(result) << "\n";
  RC_ASSERT(result.verdict != Verdict::leak);
}

RC_GTEST_PROP(BoundTest, WithoutItsSourcesItMayBeOne, ()) {
  // The near miss: what saves it is what its sources say, not that nothing is called a leak here.
  const Cache cache{.bound = *rc::gen::inRange<std::int64_t>(400, 2000), .most_bytes = 1024};
  RC_ASSERT(run_synthetic(program_of(cache, true), {.sources = Sources::none}).verdict == Verdict::leak);
}

}  // namespace
}  // namespace stepleak
