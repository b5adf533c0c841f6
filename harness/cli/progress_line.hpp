// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/trace/device.hpp"
#include "harness/trace/policy.hpp"
#include "harness/trace/trace.hpp"

namespace stepleak {

/// How far a run is, at one moment.
struct RunState {
  std::size_t ended = 0;  ///< of several targets
  std::size_t total = 1;
  std::string name;                      ///< of the target that runs
  std::int64_t step = 0;                 ///< that runs now; 0: still in the set-up
  double steps_per_second = 0;           ///< 0: not known yet
  bool is_recorded = false;              ///< a growth was found, and what keeps it is recorded
  Device device = kHost;                 ///< that the bytes are of
  std::vector<std::int64_t> live_bytes;  ///< one value a step
};

/// The device whose live bytes tell most, and these: a GPU that holds some before the host.
void add_live_bytes(const Trace& trace, RunState& state);

/// What the run waits for: "awaiting step 64 for clean".
[[nodiscard]] std::string awaited(const RunState& state, const Policy& policy);

/// A line of at most so many columns: "3 of 9 done · kept_loss · step 48 · 310 steps/s · cpu 3.2 MiB ▁▂▄█ · awaiting
/// step 64 for clean". What does not fit is left out from its least part on. `draws`: with a spark line.
[[nodiscard]] std::string progress_line(const RunState& state, const Policy& policy, std::size_t columns, bool draws);

}  // namespace stepleak
