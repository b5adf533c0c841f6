// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "tests/support/synthetic_run.hpp"

namespace stepleak {

/// A part of a healthy step.
struct Part {
  enum class Type : std::uint8_t {
    level,      ///< made in the first step, for good
    batch,      ///< made anew in every step, of a size that repeats
    random,     ///< the same, of a size that does not
    saw_tooth,  ///< collected, and cleared every so many steps
    visitor,    ///< there in one of so many steps
    late,       ///< made once, in that step
  };
  Type type = Type::level;
  std::int64_t bytes = 1;
  std::int64_t period = 1;
  std::int64_t phase = 0;
};

std::ostream& operator<<(std::ostream& out, const Part& part);

/// What leaks: a block every `period` steps, from `onset` on, into a container that nothing bounds.
struct Leak {
  std::int64_t bytes = 1;
  std::int64_t period = 1;
  std::int64_t phase = 0;
  std::int64_t onset = 1;
};

std::ostream& operator<<(std::ostream& out, const Leak& leak);

/// A program whose parts allocate in this order, or in one that every step shuffles.
[[nodiscard]] SyntheticProgram program_of(const std::vector<Part>& parts, const std::vector<Leak>& leaks,
                                          std::uint64_t shuffle = 0);

/// The same program, that idles for so many steps first.
[[nodiscard]] SyntheticProgram after_warm_up(const SyntheticProgram& program, std::int64_t steps);

/// Healthy parts; `longest`: their longest period.
[[nodiscard]] rc::Gen<std::vector<Part>> healthy_parts(std::int64_t longest);
[[nodiscard]] rc::Gen<Sources> any_sources();

/// What a reader of a result sees.
[[nodiscard]] std::string told_of(const Result& result);

}  // namespace stepleak
