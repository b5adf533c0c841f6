// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stepleak {

/// What a stretch of steps is run for.
enum class PassType : std::uint8_t {
  screen,  ///< judged; next to nothing is recorded
  record,  ///< stacks, operators and graphs are recorded, since something seems to leak
  fill,    ///< a container with a known bound runs full; not judged
};

[[nodiscard]] std::string_view to_string(PassType type);
[[nodiscard]] std::optional<PassType> parse_pass_type(std::string_view name);

/// One pass of a run. It ends where the next one begins, or with the run.
struct Pass {
  PassType type = PassType::screen;
  std::int64_t first_step = 1;
  std::int64_t planned_steps = 0;  ///< record, fill: its length, where nothing ends it early
  std::int64_t stride = 1;         ///< record: births are recorded in every so-many-th step, counted from the last
  std::int64_t young_steps = 2;    ///< record: what was born in its last so many steps may still be in use
  bool records_heap = false;       ///< record: native allocations of the host, too
};

/// Steps `first` to `last`, both included; empty where last < first.
struct StepRange {
  std::int64_t first = 1;
  std::int64_t last = 0;

  [[nodiscard]] std::int64_t count() const { return last < first ? 0 : last - first + 1; }
};

}  // namespace stepleak
