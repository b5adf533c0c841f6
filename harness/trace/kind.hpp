// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stepleak {

/// The mistake that a finding names; docs/kinds.md tells each with its signal and its remedy.
enum class Kind : std::uint8_t {
  growth,
  graph_retention,
  attached_activation,
  detached_activation,
  growing_buffer,
  view_pins_storage,
  reference_cycle,
  optimizer_state,
  fragmentation_drift,
  stuck_free,
  pinned_host,
  raw_cuda,
  host_heap,
};

inline constexpr int kKindCount = static_cast<int>(Kind::host_heap) + 1;

[[nodiscard]] std::string_view to_string(Kind kind);
[[nodiscard]] std::optional<Kind> parse_kind(std::string_view name);

}  // namespace stepleak
