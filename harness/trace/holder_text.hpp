// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/trace/object_graph.hpp"

namespace stepleak {

/// The type of a container that is a lambda of C++, which holds the object that it is given to.
inline constexpr std::string_view kCapturingType = "lambda";
/// The same of torch's object that a custom autograd function keeps values in, where it has the function's own output.
inline constexpr std::string_view kContextType = "AutogradContext";
/// The method of an optimizer, in C++ and Python, that hands it one more group of parameters.
inline constexpr std::string_view kGrouping = "add_param_group";
/// Whether a container of a type holds what it belongs to.
[[nodiscard]] constexpr bool holds_its_own(std::string_view type) {
  return type == kCapturingType || type == kContextType;
}

/// The enumerator's own spelling, as in stored traces.
[[nodiscard]] std::string_view to_string(EdgeType type);
[[nodiscard]] std::optional<EdgeType> parse_edge_type(std::string_view name);
[[nodiscard]] std::string_view to_string(StructureType type);
[[nodiscard]] std::optional<StructureType> parse_structure_type(std::string_view name);

/// What bounds a container, as a clause: "bounded at 700 by train.py:88  if len(self.items) > 700:". Empty where that
/// is not known.
[[nodiscard]] std::string structure_text(const Structure& structure);

/// A path as a person reads it: "train.trainer (Trainer) .history (list, len 31) [30] -> Tensor -> MseLossBackward0".
[[nodiscard]] std::string path_text(const ObjectGraph& graph, const Holder& holder);

/// The same, object by object, from the root on; what no person would name is left out.
[[nodiscard]] std::vector<HolderPart> path_parts(const ObjectGraph& graph, const Holder& holder);

/// The same without lengths, indices, numbers of keys and the autograd node: equal for all that is kept alike.
[[nodiscard]] std::vector<HolderPart> shape_parts(const ObjectGraph& graph, const Holder& holder);

/// The same as text without lengths, indices and the autograd node, and without keys but those that read as a name,
/// whose numbers are left out: equal in every run, for fingerprints.
[[nodiscard]] std::string shape_text(const ObjectGraph& graph, const Holder& holder);

}  // namespace stepleak
