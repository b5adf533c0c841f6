// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "harness/analyse/evidence.hpp"
#include "harness/trace/finding.hpp"

namespace stepleak {

/// What keeps growing graphs alive, as graph_retention and attached_activation share it between them.
struct GraphGrowth {
  Trend nodes;
  std::vector<const Survivor*> sinks;      ///< tensors that nothing but a holder keeps
  std::vector<const Survivor*> old_nodes;  ///< nodes of the record pass that stayed
  bool is_cyclic = false;                  ///< the graphs keep themselves: no sink leads to most of them
  bool is_kept_by_scalar = true;           ///< most sinks have one element, or no sink is a tensor
};

/// Nothing where the number of live nodes does not grow.
[[nodiscard]] std::optional<GraphGrowth> graph_growth_of(const Evidence& evidence);

/// The finding that both kinds make of it, with the device of the sinks and all the ledgers it explains.
[[nodiscard]] Finding graph_finding(const Evidence& evidence, const GraphGrowth& growth, Kind kind);

}  // namespace stepleak
