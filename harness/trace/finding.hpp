// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/trace/counter.hpp"
#include "harness/trace/survivor.hpp"

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

/// One growth with its evidence; which steps of a run it rests on is in the result around it.
struct Finding {
  Kind kind = Kind::growth;
  Device device = kHost;
  double bytes_per_step = 0;
  double count_per_step = 0;    ///< blocks, nodes or objects, as `counted` says
  std::string counted;          ///< "blocks", "autograd nodes", "python objects"
  std::int64_t since_step = 0;  ///< first step whose survivors stay
  std::string what;             ///< one clause: "45 autograd nodes and 1 tensor (float32, 0-dim) survive every step"
  std::string op;               ///< operator that made the survivors; empty where unknown
  std::vector<Frame> where;     ///< innermost user frame first; empty before the explain pass
  std::string holder;           ///< Holder::path; empty where none was found
  std::string holder_shape;     ///< Holder::shape
  std::string kept_by;          ///< "train.py:45  self.history.append(loss)"; empty where unknown
  std::string kept_expression;
  std::int64_t kept_count = 0;  ///< explained steps of which a survivor is alive
  std::int64_t explained_steps = 0;
  std::string fix;
  std::string fingerprint;              ///< 16 hex digits, stable over runs, machines and line shifts
  std::vector<SeriesKey> accounts_for;  ///< ledgers whose growth this finding explains
};

}  // namespace stepleak
