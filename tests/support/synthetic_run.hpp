// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "harness/trace/policy.hpp"
#include "harness/trace/result.hpp"
#include "tests/support/synthetic_memory.hpp"

namespace stepleak {

/// A program whose steps only say what they would allocate and free.
struct SyntheticProgram {
  std::function<void(std::int64_t step, SyntheticMemory&)> step;  ///< called with 1, 2, 3, ...
  Structure structure;                                            ///< of its container, as its sources tell it
  bool has_new_keys_only = false;                                 ///< of a keyed one
};

/// Whether a run has sources to read: a step in Python; or none, as in C++.
enum class Sources : std::uint8_t { read, none };

struct SyntheticRun {
  Sources sources = Sources::read;
  Policy policy;
  std::uint64_t addresses = 0;  ///< where blocks lie
  std::int64_t set_up = 0;      ///< what the set-up made: bytes of one tensor, bytes of heap, and objects
  std::int64_t host_bytes = 0;  ///< of the machine's memory; 0: not known
};

/// Runs a program under the session that production uses, with its judge, its looks and all detectors.
[[nodiscard]] Result run_synthetic(const SyntheticProgram& program, const SyntheticRun& run = {});

}  // namespace stepleak
