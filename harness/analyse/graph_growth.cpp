// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/analyse/graph_growth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "harness/analyse/suspects.hpp"
#include "harness/trace/frames.hpp"

namespace stepleak {
namespace {

// A tensor of one element: a loss, a metric.
bool is_scalar(const Survivor& tensor) {
  const bool is_wide = tensor.name == "double" || tensor.name == "long" || tensor.name == "complexfloat";
  return tensor.dims == 0 || tensor.bytes <= (is_wide ? 8 : 4);
}

// Each storage once: an operator's output and its aliases are one kept thing.
std::vector<const Survivor*> sinks_of(const Recording& recording) {
  return survivors_where(recording, [](const Survivor& s) { return s.type == SurvivorType::tensor && s.is_sink; });
}

// Where no ledger counts nodes (on a GPU), what they hold shows since when they are kept.
std::int64_t first_growth(const Trends& trends) {
  auto since = trends.heap().is_growing() ? trends.heap().since_step : trends.judged().last;
  for (const auto& device : trends.devices()) {
    const auto& bytes = trends.of({Counter::live_bytes, device});
    if (bytes.is_growing()) since = std::min(since, bytes.since_step);
  }
  return since;
}

bool is_any_old(const Recording& recording, const std::vector<const Survivor*>& survivors) {
  return std::any_of(survivors.begin(), survivors.end(), [&](const Survivor* s) { return is_old(recording, *s); });
}

// The newest tensor with a graph that a step hands on, and that is found to be held; null where there is none.
// `is_wanted`: by whom.
const Survivor* handed_on(const Recording& recording, const std::function<bool(const Holder&)>& is_wanted) {
  const auto found = survivors_where(recording, [&](const Survivor& survivor) {
    return recording.is_handed_on(survivor) && survivor.holder >= 0 &&
           is_wanted(recording.holders.at(static_cast<std::size_t>(survivor.holder)));
  });
  return found.empty() ? nullptr : found.back();
}

// Of a state that is handed on from step to step, what was made of it in the newest one is the sink, which may be no
// more than a number to be shown: `shown = self.mean / (1 - decay)`. Who keeps all of them is the state, where the
// sources tell that it is made of what it was.
void tell_state_from_what_is_made_of_it(const Evidence& evidence, const GraphGrowth& growth, Finding& finding) {
  const auto& recording = evidence.recording;
  if (is_any_old(recording, growth.sinks) || never_ends(finding.structure)) return;
  const auto* state = handed_on(recording, [](const Holder& holder) { return never_ends(holder.structure); });
  if (state == nullptr) return;
  set_holder(recording, state->holder, finding);
  if (state->stack < 0) return;
  finding.where = where_of(recording.stacks.at(static_cast<std::size_t>(state->stack)));
  finding.op = state->op;
}

}  // namespace

std::optional<GraphGrowth> graph_growth_of(const Evidence& evidence) {
  GraphGrowth growth{.nodes = evidence.trends.of({Counter::live_nodes})};
  growth.old_nodes = old_nodes(evidence.recording);
  const bool is_counted = evidence.trace.has({Counter::live_nodes});
  if (!is_counted) growth.nodes = recorded_trend(evidence.recording, growth.old_nodes);
  if (!growth.nodes.is_growing()) return std::nullopt;
  if (!is_counted) growth.nodes.since_step = first_growth(evidence.trends);
  growth.sinks = sinks_of(evidence.recording);
  const auto is_self_kept = [](const Survivor* s) { return s->is_in_cycle || s->is_unreachable; };
  const bool are_all_sinks_cyclic = std::all_of(growth.sinks.begin(), growth.sinks.end(), is_self_kept);
  const bool has_cycle =
      !growth.sinks.empty() || std::any_of(growth.old_nodes.begin(), growth.old_nodes.end(), is_self_kept);
  growth.is_cyclic = are_all_sinks_cyclic && has_cycle;
  const auto scalars = std::count_if(growth.sinks.begin(), growth.sinks.end(), [](auto* s) { return is_scalar(*s); });
  const auto all = static_cast<std::ptrdiff_t>(growth.sinks.size());
  // Of a state that is handed on only the newest is a sink; the loss of the last step leads to that one's graph, too.
  growth.is_kept_by_scalar = is_any_old(evidence.recording, growth.sinks) ? 2 * scalars >= all : scalars == all;
  return growth;
}

Finding graph_finding(const Evidence& evidence, const GraphGrowth& growth, Kind kind) {
  Finding finding{.kind = kind};
  finding.count_per_step = growth.nodes.per_step;
  finding.counted = Counted::autograd_nodes;
  finding.since_step = growth.nodes.since_step;
  if (!growth.sinks.empty()) finding.device = growth.sinks.front()->device;
  finding.bytes_per_step = std::max(0.0, evidence.trends.of({Counter::live_bytes, finding.device}).per_step);
  add_suspects(evidence.recording, growth.sinks, finding);
  if (finding.where.empty()) {
    // A sum that was made in the set-up and is added to in place has no birth here; its nodes have.
    auto nodes = growth.old_nodes;
    nodes.insert(nodes.end(), growth.sinks.begin(), growth.sinks.end());
    add_suspects(evidence.recording, nodes, finding);
  }
  if (finding.holder_index < 0) {
    // What a step hands on is no sink: the newest graph leads to it, and may be held by a call that is not over.
    const auto* state = handed_on(evidence.recording, [](const Holder&) { return true; });
    if (state != nullptr) set_holder(evidence.recording, state->holder, finding);
  }
  tell_state_from_what_is_made_of_it(evidence, growth, finding);
  finding.kept_count = std::min(std::max(finding.kept_count, steps_kept(growth.old_nodes)), finding.explained_steps);
  const auto counted =
      growth_text(finding.count_per_step, growth.nodes.period, "autograd node", gap_between_kept(finding));
  finding.what = counted.count;
  if (const auto* sink = example_of(growth.sinks, finding); sink != nullptr) {
    finding.what += fmt::format(", kept by a tensor ({}, {}-dim),", sink->name, sink->dims);
  }
  finding.what +=
      fmt::format(" {} {} since step {}", counted.is_one ? "survives" : "survive", counted.every, finding.since_step);
  for (const auto& device : evidence.trace.devices()) {
    finding.accounts_for.push_back({Counter::live_bytes, device});
  }
  for (const auto counter : {Counter::live_nodes, Counter::live_tensors, Counter::heap_bytes, Counter::python_objects,
                             Counter::python_blocks}) {
    finding.accounts_for.push_back({counter});
  }
  return finding;
}

}  // namespace stepleak
