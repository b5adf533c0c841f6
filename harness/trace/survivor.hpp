// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/base/mapped_memory.hpp"
#include "harness/trace/device.hpp"
#include "harness/trace/handle_type.hpp"

namespace stepleak {

/// Whose code a frame is.
enum class FrameOwner : std::uint8_t {
  runtime,  ///< torch's, stepleak's or the language's own, or without a source line
  library,  ///< another package's, as of a trainer
  user,
};

/// One frame of a stack, innermost first in every list of frames.
struct Frame {
  std::string file;
  int line = 0;
  std::string function;
  std::string text;  ///< the source line, trimmed; empty where it cannot be read
  FrameOwner owner = FrameOwner::runtime;
  int folded_count = 0;  ///< in `where`, of a library's frame: further ones up to the user's, which are left out

  bool operator==(const Frame&) const = default;
};

/// What of one birth step is still alive at a boundary, per device.
struct Cohort {
  std::int64_t birth_step = 0;
  std::int64_t bytes = 0;
  std::int64_t blocks = 0;
};

/// Each look of a session keeps some, in the process that is measured.
using Cohorts = std::vector<Cohort, MappedAllocator<Cohort>>;

/// All cohorts of one device at one look; memory is O(steps with survivors).
struct CohortTable {
  Device device = kHost;
  std::int64_t at_step = 0;
  Cohorts cohorts;  ///< ascending by birth step; empty cohorts left out
};

enum class SurvivorType : std::uint8_t {
  block,   ///< an allocation that no known tensor uses
  tensor,  ///< a tensor that an operator returned
  node,    ///< an autograd node
  handle,  ///< a CUDA object, or what an allocator took from the driver: `handle` says which
  heap,    ///< native host memory outside tensors: what one step allocated by one stack
};

/// Something born in a step of the record pass and still alive at its last boundary.
struct Survivor {
  SurvivorType type = SurvivorType::block;
  Device device = kHost;
  std::int64_t birth_step = 0;
  std::uint64_t identity = 0;      ///< address of the block, TensorImpl or Node; valid in its process only
  std::uint64_t storage = 0;       ///< tensor: address of its storage's memory; 0 where it has none
  std::int64_t bytes = 0;          ///< block, handle, heap: its size; tensor: the bytes of its elements
  std::int64_t storage_bytes = 0;  ///< tensor: the whole storage
  int dims = 0;                    ///< tensor: number of dimensions
  HandleType handle = HandleType::none;
  std::string name;                 ///< tensor: dtype, "float32"; node: "MseLossBackward0"
  std::string op;                   ///< operator that returned it: "aten::mse_loss"
  bool has_graph = false;           ///< tensor: has a grad_fn
  bool is_computed = false;         ///< tensor: returned by an operator that read another tensor
  bool is_sink = false;             ///< tensor or node: no other survivor's graph leads to it
  bool is_in_cycle = false;         ///< tensor or node: its own graph leads back to it
  bool is_view_base = false;        ///< tensor: nothing but views of it keeps it alive
  bool is_collected = false;        ///< block: a forced collection freed it, nothing else did
  bool is_optimizer_state = false;  ///< tensor: an optimizer is on the path that keeps it
  bool is_pinned = false;           ///< tensor: its memory is page-locked host memory
  bool is_unreachable = false;      ///< no root of the program leads to it (known only where a search ran)
  std::string library;              ///< handle, heap: "libcudnn.so.9", whose code asked for it; empty where unknown
  int stack = -1;                   ///< index into Recording::stacks
  int holder = -1;                  ///< index into Recording::holders
};

}  // namespace stepleak
