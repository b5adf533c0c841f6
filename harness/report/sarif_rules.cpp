// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/report/sarif_rules.hpp"

#include "harness/report/problem.hpp"
#include "harness/trace/kind.hpp"

namespace stepleak {
namespace {

const char* description_of(Kind kind) {
  switch (kind) {
    case Kind::growth:
      return "Tensor memory grows with every step, and nothing narrower is proven";
    case Kind::graph_retention:
      return "A loss or a metric is kept as a tensor, and with it the autograd graph of its step";
    case Kind::attached_activation:
      return "An activation or a hidden state outlives its step with its autograd graph";
    case Kind::detached_activation:
      return "Computed tensors are kept whole, and their number grows";
    case Kind::growing_buffer:
      return "One buffer is made anew in every step, larger each time";
    case Kind::view_pins_storage:
      return "A small view is kept, and with it the whole storage";
    case Kind::reference_cycle:
      return "Objects keep each other: only a forced collection frees them, or nothing does";
    case Kind::optimizer_state:
      return "An optimizer keeps parameters and moments of layers that the step has replaced";
    case Kind::fragmentation_drift:
      return "The caching allocator takes ever more from the driver while live tensors take no more";
    case Kind::stuck_free:
      return "Freed blocks wait for a stream for ever";
    case Kind::pinned_host:
      return "Page-locked host memory is kept, or taken in ever new sizes";
    case Kind::raw_cuda:
      return "Device memory, streams, events or graphs outside the caching allocator pile up";
    case Kind::host_heap:
      break;
  }
  return "Host memory outside tensors grows with every step";
}

std::vector<SarifRule> made_rules() {
  std::vector<SarifRule> rules;
  for (int kind = 0; kind < kKindCount; ++kind) {
    rules.push_back({std::string(to_string(static_cast<Kind>(kind))), description_of(static_cast<Kind>(kind))});
  }
  static constexpr const char* kDescriptions[] = {
      "Memory that the step takes does not stop growing", "No verdict was reached within the budget",
      "The step or the harness failed before there was a verdict", "Not as before, or not without a note"};
  static_assert(std::size(kDescriptions) == std::size(kRulesWithoutFinding));
  for (std::size_t i = 0; i < std::size(kDescriptions); ++i) {
    rules.push_back({kRulesWithoutFinding[i], kDescriptions[i]});
  }
  return rules;
}

}  // namespace

const std::vector<SarifRule>& sarif_rules() {
  static const auto rules = made_rules();
  return rules;
}

}  // namespace stepleak
