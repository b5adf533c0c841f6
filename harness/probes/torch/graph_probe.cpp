// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/torch/graph_probe.hpp"

#include <ATen/record_function.h>

#include <cstring>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

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

// Names of operators, each kept once: a RecordFunction's own name dies with it.
const char* interned(const char* name) {
  // An operator mostly hands over the same pointer; what is behind it is compared, since it may be another's by now.
  thread_local std::unordered_map<const char*, const char*> seen;
  auto& kept = seen[name];
  if (kept != nullptr && std::strcmp(kept, name) == 0) return kept;
  static auto* names = new std::set<std::string, std::less<>>;
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  auto known = names->find(std::string_view(name));
  if (known == names->end()) known = names->emplace(name).first;
  return kept = known->c_str();
}

struct ExplainContext final : at::ObserverContext {
  OperatorStart start;
};

std::unique_ptr<at::ObserverContext> start_in_explain(const at::RecordFunction& function) {
  auto context = std::make_unique<ExplainContext>();
  enter_operator(function.name());
  context->start.order = record().next_order();
  for (const auto& input : function.inputs()) {
    for_each_tensor(input, [&](const at::Tensor& tensor) { context->start.is_computed |= tensor.numel() > 0; });
  }
  return context;
}

void end_in_explain(const at::RecordFunction& function, at::ObserverContext* context) {
  if (context == nullptr) return;  // the operator began before the explain pass
  bool has_output = false;
  for (const auto& output : function.outputs()) for_each_tensor(output, [&](const at::Tensor&) { has_output = true; });
  if (has_output) {
    const auto& start = static_cast<ExplainContext*>(context)->start;
    record_outputs(function,
                   {.step = current_step.load(std::memory_order_relaxed),
                    .op = interned(function.name()),
                    .is_computed = start.is_computed,
                    .stack = capture_operator_stack()},
                   &start);
  }
  leave_operator();
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

GraphProbe::GraphProbe(std::shared_ptr<StackTable> stacks, std::int64_t stride)
    : stacks_(std::move(stacks)), stride_(stride) {}

GraphProbe::~GraphProbe() {
  if (handle()) at::removeCallback(*handle());
  handle().reset();
}

std::vector<SeriesKey> GraphProbe::keys() const { return {{Counter::live_nodes}, {Counter::live_tensors}}; }

void GraphProbe::start() {
  record().clear();
  watch_in_screen();
  is_watching_ = true;
}

void GraphProbe::begin_step(std::int64_t step) {
  step_ = step;
  if (!is_explaining_) watch(step % stride_ == 0);
}

void GraphProbe::record_stacks(bool is_recording) {
  if (is_explaining_) watch(is_recording);
}

void GraphProbe::watch(bool is_watching) {
  if (is_watching == is_watching_) return;
  is_watching_ = is_watching;
  is_watching ? at::reenableCallback(*handle()) : at::disableCallback(*handle());
}

void GraphProbe::read(Moment moment, std::span<std::int64_t> row) {
  if (moment != Moment::after_collection) return;
  record().prune();
  // A sampled step's young births would stand for those of all the steps between: only what outlives it counts.
  const auto counts = stride_ == 1 ? record().counts() : record().counts(step_, stride_);
  row[0] = counts.nodes * stride_;
  row[1] = counts.tensors * stride_;
}

void GraphProbe::begin_explain() {
  is_explaining_ = true;
  register_callback(at::RecordFunctionCallback(&start_in_explain, &end_in_explain).needsInputs(true));
  is_watching_ = true;
  watch(false);
}

void GraphProbe::end_explain(Trace& trace) {
  watch_in_screen();
  is_explaining_ = false;
  is_watching_ = true;
  trace.graph_stride = stride_;
  record().prune();
  add_graph_survivors(record(), *stacks_, trace);
}

}  // namespace stepleak
