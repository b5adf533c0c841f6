// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepleak {

/// What the search for holders saw of the program's objects: values only; text is made of it by holder_text.hpp.
struct ObjectNode {
  std::string type;          ///< "list", "Trainer"; empty for what no person would name (a namespace dict, a cell)
  std::string name;          ///< a root's: "train.trainer", "local of main"; else empty
  std::int64_t length = -1;  ///< of a container; -1: it is none
  std::int64_t bound = -1;   ///< the most that it can hold (deque maxlen); -1: nothing bounds it
  bool is_optimizer = false;
};

enum class EdgeType : std::uint8_t {
  attribute,  ///< of an object, a module or a namespace; also a variable of a function, and a key that reads as a name
  index,      ///< of a list, a tuple or a deque
  key,        ///< of a dict
  hidden,     ///< what no person would write: from an object to its namespace, from a closure to a cell
  other,      ///< it is held, and how is not known
};

struct ObjectEdge {
  int from = 0;  ///< index into ObjectGraph::nodes
  int to = 0;
  EdgeType type = EdgeType::other;
  std::string label;  ///< attribute: its name; index: "30"; key: its text, "'loss'"
};

struct ObjectGraph {
  std::vector<ObjectNode> nodes;
  std::vector<ObjectEdge> edges;
};

/// A statement of the user's sources that keeps something.
struct Statement {
  std::string file;
  int line = 0;
  std::string text;
  std::string expression;          ///< what it keeps: "loss"
  std::vector<std::string> calls;  ///< names of the methods that it calls: "append"
  /// What of it is to be detached, where that is not just the expression: the `h` that comes in, of `h = cell(x, h)`,
  /// where a loss needs what is assigned; of `log.append((loss, acc))` both. None where no place is known to be right.
  std::optional<std::vector<std::string>> detached = std::nullopt;
  bool is_used_as_tensor = false;  ///< methods of tensors are called of what it assigns: no number will do

  [[nodiscard]] bool calls_a(std::string_view method) const { return std::ranges::find(calls, method) != calls.end(); }
  /// Whether both are known, and are one.
  [[nodiscard]] bool is_at(const Statement& other) const {
    return line > 0 && line == other.line && file == other.file;
  }
};

/// What bounds a container, as the user's sources and its type say.
enum class StructureType : std::uint8_t {
  unbounded,    ///< a statement of the user's fills it, and nothing that can reach it takes anything out any more
  bounded,      ///< it cannot hold more than it is allowed to
  declared,     ///< the program says so, by stepleak.bounded(), and it does not hold more yet
  exceeded,     ///< it holds more than the program declares
  reset,        ///< some statement empties it, at a time that this run may not have reached
  uncalled,     ///< some statement empties it, but no step can reach it: set-up, or a function that nothing calls
  expiring,     ///< a statement drops what has been in it for long enough
  keyed,        ///< it is asked before it is filled: it grows per distinct key, not per step
  conditional,  ///< a statement may take something out of it, or keep it from being filled, and it was not seen to
  unreachable,  ///< no container: a cycle keeps it, to which nothing in the program leads
  unknown,
};

struct Structure {
  StructureType type = StructureType::unknown;
  /// The most entries that it can hold; -1: not known. Of type unknown 1: what is held lies in no container, but in an
  /// attribute of an object that was there before it.
  std::int64_t bound = -1;
  std::string file;  ///< of the line that bounds, resets or asks
  int line = 0;      ///< 0: there is none
  std::string text;
};

/// A container that the program declares a bound of, and how much of it was taken when the run ended.
struct DeclaredBound {
  std::string type;  ///< "list"
  std::int64_t length = 0;
  Structure structure;  ///< `declared`, or `exceeded`, with the bound and the line that declares it
};

/// Whether nothing ends its growth: by the sources, against what the program declares, or since no collection can.
[[nodiscard]] inline bool never_ends(const Structure& structure) {
  using enum StructureType;
  return structure.type == unbounded || structure.type == exceeded || structure.type == unreachable;
}

/// Whether nothing is known that would end a container's growth.
[[nodiscard]] inline bool has_no_known_end(const Structure& structure) {
  using enum StructureType;
  return never_ends(structure) || structure.type == uncalled || structure.type == unknown;
}

/// One object on a path from a root to what is held, as a person reads it.
struct HolderPart {
  std::string by;             ///< how the one before it holds it: ".history", "[30]"; empty: of a root, or not known
  std::string what;           ///< "train.trainer (Trainer)", "list, len 31", "Tensor"
  bool is_container = false;  ///< the innermost container: what grows

  auto operator<=>(const HolderPart&) const = default;
};

/// How a root keeps a survivor, or a container or a buffer that grew; or how a cycle does, to which no root leads.
struct Holder {
  std::vector<int> path;  ///< edges from a root to what is held; indices into ObjectGraph::edges; empty: a root itself
  int held = -1;          ///< node at the end
  int container = -1;     ///< the innermost container on the path; -1: none
  int graph = -1;         ///< the autograd node of a tensor that is held; -1: it has none
  Statement kept_by;      ///< of line 0 where none was found
  Structure structure;    ///< of the container
  /// Of a held buffer (a string, an array) that grew in the record pass: its size after it, and by how much it grew.
  std::int64_t buffer_bytes = 0;
  std::int64_t buffer_growth = 0;
  /// Of a container that grew in the record pass: what it gained then, in entries, in malloc's bytes, in small blocks
  /// of Python's own allocator and their bytes, and in torch's events, streams, graphs and MemPools. More of these
  /// where it is not weighed: something in it does not say all that it keeps.
  std::int64_t gained_entries = 0;
  std::int64_t gained_bytes = 0;
  std::int64_t gained_blocks = 0;
  std::int64_t gained_block_bytes = 0;
  std::int64_t gained_cuda_objects = 0;
  bool is_weighed = false;
  /// Whether what it gained can be called or runs: functions, methods, handlers, what works on an optimizer. That is no
  /// log, however little it weighs.
  bool gains_callbacks = false;
  /// Of a list that was made with all its places: how many have not been taken yet.
  std::int64_t free_entries = 0;
  /// Whether it was found in the sources of a C++ step: no object was looked at, so that its length is not known, and
  /// what it gained is what was put into it in the recorded steps, an entry a step.
  bool is_of_sources = false;
  /// Whether the root is a variable of a function that has not ended: of a generator, a coroutine or another thread.
  bool is_waiting = false;
  /// Whether the sources do more with what the container holds than numbers allow.
  bool are_items_used = false;
  /// Of what is filled once a key: whether a step that left nothing in it need not have asked for what is there.
  bool has_new_keys_only = false;
};

}  // namespace stepleak
