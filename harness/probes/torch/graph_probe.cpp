// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/torch/graph_probe.hpp"

#include <ATen/record_function.h>

#include <optional>

#include "harness/probes/step_clock.hpp"
#include "harness/probes/torch/graph_record.hpp"
#include "harness/probes/torch/graph_walk.hpp"

namespace stepleak {
namespace {

// Never destroyed: another thread may still be in a callback after it was removed.
GraphRecord& record() {
  static auto* instance = new GraphRecord;
  return *instance;
}

template <typename Visit>
void for_each_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const auto& tensor : value.toTensorList()) visit(static_cast<at::Tensor>(tensor));
  } else if (value.isTuple()) {
    for (const auto& element : value.toTupleRef().elements()) for_each_tensor(element, visit);
  }
}

void record_outputs(const at::RecordFunction& function, Birth birth, const OperatorStart* start) {
  for (const auto& output : function.outputs()) {
    for_each_tensor(output, [&](const at::Tensor& tensor) {
      birth.order = record().next_order();
      record().add_output(tensor, birth, start);
    });
  }
}

void end_in_screen(const at::RecordFunction& function, at::ObserverContext* /*context*/) {
  record_outputs(function, {.step = current_step.load(std::memory_order_relaxed)}, nullptr);
}

struct ExplainContext final : at::ObserverContext {
  OperatorStart start;
};

std::unique_ptr<at::ObserverContext> start_in_explain(const at::RecordFunction& function) {
  auto context = std::make_unique<ExplainContext>();
  context->start.order = record().next_order();
  for (const auto& input : function.inputs()) {
    for_each_tensor(input, [&](const at::Tensor& tensor) { context->start.is_computed |= tensor.numel() > 0; });
  }
  return context;
}

void end_in_explain(const at::RecordFunction& function, at::ObserverContext* context) {
  bool has_output = false;
  for (const auto& output : function.outputs()) for_each_tensor(output, [&](const at::Tensor&) { has_output = true; });
  if (!has_output || context == nullptr) return;  // no context: the operator began before the explain pass
  const auto& start = static_cast<ExplainContext*>(context)->start;
  record_outputs(function,
                 {.step = current_step.load(std::memory_order_relaxed),
                  .op = function.name(),
                  .is_computed = start.is_computed,
                  .stack = capture_stack()},
                 &start);
}

// At most one callback is registered at a time, for the process.
std::optional<at::CallbackHandle>& handle() {
  static std::optional<at::CallbackHandle> instance;
  return instance;
}

void register_callback(at::RecordFunctionCallback callback) {
  if (handle()) at::removeCallback(*handle());
  handle() = at::addGlobalCallback(callback.needsOutputs(true).scopes({at::RecordScope::FUNCTION}));
}

void watch_in_screen() { register_callback(at::RecordFunctionCallback(nullptr, &end_in_screen)); }

}  // namespace

GraphProbe::GraphProbe(std::shared_ptr<StackTable> stacks) : stacks_(std::move(stacks)) {}

GraphProbe::~GraphProbe() {
  if (handle()) at::removeCallback(*handle());
  handle().reset();
}

std::vector<SeriesKey> GraphProbe::keys() const { return {{Counter::live_nodes}, {Counter::live_tensors}}; }

void GraphProbe::start() {
  record().clear();
  watch_in_screen();
}

void GraphProbe::read(Moment moment, std::span<std::int64_t> row) {
  if (moment != Moment::after_collection) return;
  record().prune();
  row[0] = record().node_count();
  row[1] = record().tensor_count();
}

void GraphProbe::begin_explain() {
  register_callback(at::RecordFunctionCallback(&start_in_explain, &end_in_explain).needsInputs(true));
}

void GraphProbe::end_explain(Trace& trace) {
  watch_in_screen();
  record().prune();
  add_graph_survivors(record(), *stacks_, trace);
}

}  // namespace stepleak
