// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/trace/counter.hpp"
#include "harness/trace/kind.hpp"
#include "harness/trace/object_graph.hpp"
#include "harness/trace/survivor.hpp"

namespace stepleak {

/// What a finding's `count_per_step` counts.
enum class Counted : std::uint8_t {
  nothing,
  blocks,
  tensors,
  autograd_nodes,
  python_objects,
  python_blocks,
  cuda_objects,
  segments,
};
inline constexpr std::size_t kCountedCount = static_cast<std::size_t>(Counted::segments) + 1;

/// "autograd nodes", "cuda objects"; of `nothing` nothing.
[[nodiscard]] std::string_view to_string(Counted counted);
[[nodiscard]] std::optional<Counted> parse_counted(std::string_view name);

/// One growth with its evidence; which steps of a run it rests on is in the result around it.
struct Finding {
  int rank = -1;  ///< of several that ran together; -1: there is one only
  Kind kind = Kind::growth;
  Device device = kHost;
  double bytes_per_step = 0;
  double count_per_step = 0;  ///< blocks, nodes or objects, as `counted` says
  Counted counted = Counted::nothing;
  std::int64_t since_step = 0;  ///< first step whose survivors stay
  std::string what;             ///< one clause: "45 autograd nodes and 1 tensor (float32, 0-dim) survive every step"
  std::string op;               ///< operator that made the survivors; empty where unknown
  std::vector<Frame> where;     ///< innermost user frame first; empty before the record pass
  int holder_index = -1;        ///< into Recording::holders, while the recording is at hand; -1: none was found
  std::string holder;           ///< as a person reads it
  std::string holder_shape;     ///< without lengths and indices
  std::vector<HolderPart> holder_path{};  ///< the same path, object by object
  Statement kept_by;                      ///< of line 0 where none was found
  Structure structure;                    ///< what bounds the container that keeps it
  std::int64_t kept_count = 0;            ///< explained steps of which a survivor is alive
  std::int64_t explained_steps = 0;
  bool has_gained =
      false;  ///< of host memory and CUDA objects: its container gained the better part in the recorded steps
  std::string fix;
  std::string fingerprint;              ///< 16 hex digits, stable over runs, machines and line shifts
  std::vector<SeriesKey> accounts_for;  ///< ledgers whose growth this finding explains
};

}  // namespace stepleak
