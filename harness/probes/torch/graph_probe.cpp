// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/torch/graph_probe.hpp"

#include <ATen/record_function.h>

#include <optional>

#include "harness/probes/fork_guard.hpp"
#include "harness/probes/name_table.hpp"
#include "harness/probes/step_clock.hpp"
#include "harness/probes/tensor_references.hpp"
#include "harness/probes/torch/cpu_allocator_probe.hpp"
#include "harness/probes/torch/graph_record.hpp"
#include "harness/probes/torch/graph_walk.hpp"
#include "harness/probes/torch/tensor_shell.hpp"

namespace stepleak {
namespace {

// Names of operators, each kept once: a RecordFunction's own name dies with it.
struct OperatorNames {
  std::mutex mutex;
  std::set<std::string, std::less<>> names;
};

OperatorNames& operator_names() {
  static auto* instance = new OperatorNames;
  return *instance;
}

GraphRecord& graph_record();

void lock_for_fork() {
  graph_record().lock_for_fork();
  operator_names().mutex.lock();
}

void unlock_in_parent() {
  operator_names().mutex.unlock();
  graph_record().unlock_in_parent();
}

void forget_in_child() {
  operator_names().mutex.unlock();
  graph_record().forget_in_child();
}

// Never destroyed: another thread may still be in a callback after it was removed.
GraphRecord& graph_record() {
  static auto* instance = [] {
    at_fork({&lock_for_fork, &unlock_in_parent, &forget_in_child});
    return new GraphRecord;
  }();
  return *instance;
}

template <typename Visit>
void for_each_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) visit(value.toTensor());
  } else if (value.isTensorList()) {
    // Elements, not copies: to drop a copy may take the GIL.
    for (const auto& element : value.toListRef()) for_each_tensor(element, visit);
  } else if (value.isTuple()) {
    for (const auto& element : value.toTupleRef().elements()) for_each_tensor(element, visit);
  }
}

struct OperatorContext final : at::ObserverContext {
  OperatorStart start;
};

std::unique_ptr<OperatorContext> start_with_inputs(const at::RecordFunction& function) {
  auto context = std::make_unique<OperatorContext>();
  for (const auto& input : function.inputs()) {
    for_each_tensor(input,
                    [&](const at::Tensor& tensor) { context->start.inputs.push_back(tensor.unsafeGetTensorImpl()); });
  }
  return context;
}

void record_outputs(const at::RecordFunction& function, Birth birth, const OperatorStart& start) {
  for (const auto& output : function.outputs()) {
    for_each_tensor(output, [&](const at::Tensor& tensor) {
      birth.order = graph_record().next_order();
      graph_record().add_output(tensor, birth, start);
    });
  }
}

std::unique_ptr<at::ObserverContext> start_with_outputs(const at::RecordFunction& function) {
  if (!is_observing_here()) return nullptr;
  return start_with_inputs(function);
}

void end_with_outputs(const at::RecordFunction& function, at::ObserverContext* context) {
  // Without a context the operator began before the run.
  if (context == nullptr || !is_observing_here()) return;
  record_outputs(function, {.step = current_step.load(std::memory_order_relaxed)},
                 static_cast<OperatorContext*>(context)->start);
}

std::unique_ptr<at::ObserverContext> start_with_stack(const at::RecordFunction& function) {
  if (!is_observing_here()) return nullptr;
  enter_operator(function.name());
  return std::make_unique<OperatorContext>();
}

void end_with_stack(const at::RecordFunction& /*function*/, at::ObserverContext* context) {
  if (context != nullptr && is_observing_here()) leave_operator();
}

std::unique_ptr<at::ObserverContext> start_with_outputs_and_stack(const at::RecordFunction& function) {
  if (!is_observing_here()) return nullptr;
  enter_operator(function.name());
  return start_with_inputs(function);
}

void end_with_outputs_and_stack(const at::RecordFunction& function, at::ObserverContext* context) {
  end_with_outputs(function, context);
  end_with_stack(function, context);
}

// A RecordFunction's own name dies with it. Never destroyed, like the record.
const char* interned(const char* name) {
  static auto* names = new NameTable;
  return names->kept(name);
}

std::unique_ptr<at::ObserverContext> start_in_explain(const at::RecordFunction& function) {
  if (!is_observing_here()) return nullptr;
  enter_operator(function.name());
  auto context = start_with_inputs(function);
  context->start.order = graph_record().next_order();
  for (const auto& input : function.inputs()) {
    for_each_tensor(input, [&](const at::Tensor& tensor) { context->start.is_computed |= has_elements(tensor); });
  }
  return context;
}

void end_in_explain(const at::RecordFunction& function, at::ObserverContext* context) {
  // Without a context the operator began before the record pass.
  if (context == nullptr || !is_observing_here()) return;
  const auto& start = static_cast<OperatorContext*>(context)->start;
  Birth birth{.step = current_step.load(std::memory_order_relaxed),
              .op = interned(function.name()),
              .is_computed = start.is_computed,
              .stack = capture_operator_stack()};
  record_outputs(function, std::move(birth), start);
  leave_operator();
}

// At most one callback is registered at a time, for the process.
std::optional<at::CallbackHandle>& handle() {
  static std::optional<at::CallbackHandle> instance;
  return instance;
}

void add_callback(at::RecordFunctionCallback callback) {
  handle() = at::addGlobalCallback(callback.scopes({at::RecordScope::FUNCTION}));
}

void remove_callback() {
  if (handle()) at::removeCallback(*handle());
  handle().reset();
}

}  // namespace

GraphProbe::GraphProbe(std::shared_ptr<StackTable> stacks, GraphCoverage coverage)
    : stacks_(std::move(stacks)), coverage_(coverage) {}

GraphProbe::~GraphProbe() {
  stop_observing_here();
  remove_callback();
  graph_record().clear();
}

std::vector<SeriesKey> GraphProbe::keys() const {
  if (coverage_ == GraphCoverage::record_pass) return {};
  return {{Counter::live_nodes}, {Counter::live_tensors}};
}

void GraphProbe::start() {
  graph_record().start();
  is_explaining_ = false;
  start_observing_here();
  set_mode(mode_in_screen());
}

void GraphProbe::record_stacks(bool is_recording) {
  is_recording_stacks_ = is_recording;
  set_mode(is_explaining_ ? (is_recording ? Mode::explain : Mode::off) : mode_in_screen());
}

GraphProbe::Mode GraphProbe::mode_in_screen() const {
  const bool has_columns = coverage_ == GraphCoverage::every_step;
  if (is_recording_stacks_) return has_columns ? Mode::outputs_and_stacks : Mode::stacks;
  return has_columns ? Mode::outputs : Mode::off;
}

void GraphProbe::set_mode(Mode mode) {
  if (mode == mode_) return;
  mode_ = mode;
  remove_callback();
  switch (mode) {
    case Mode::off:
      return;
    case Mode::outputs:
      return add_callback(
          at::RecordFunctionCallback(&start_with_outputs, &end_with_outputs).needsInputs(true).needsOutputs(true));
    case Mode::stacks:
      return add_callback(at::RecordFunctionCallback(&start_with_stack, &end_with_stack));
    case Mode::outputs_and_stacks:
      return add_callback(at::RecordFunctionCallback(&start_with_outputs_and_stack, &end_with_outputs_and_stack)
                              .needsInputs(true)
                              .needsOutputs(true));
    case Mode::explain:
      return add_callback(
          at::RecordFunctionCallback(&start_in_explain, &end_in_explain).needsInputs(true).needsOutputs(true));
  }
}

void GraphProbe::read(Moment moment, std::span<std::int64_t> row) {
  if (moment != Moment::after_collection) return;
  graph_record().prune();
  if (row.empty()) return;
  const auto counts = graph_record().counts();
  row[0] = counts.nodes;
  // A tensor of the set-up is unknown, and so is its end, which its memory tells: in a full ring each step replaces
  // one.
  row[1] = counts.tensors + live_set_up_blocks();
}

void GraphProbe::begin_record(const Pass& /*pass*/) {
  is_explaining_ = true;
  set_mode(Mode::off);
}

void GraphProbe::end_record(Recording& recording) {
  is_explaining_ = false;
  set_mode(mode_in_screen());
  graph_record().prune();
  add_graph_survivors(graph_record(), *stacks_, recording);
}

void let_go_of_tensor(std::uintptr_t impl) { graph_record().let_go(reinterpret_cast<at::TensorImpl*>(impl)); }

void take_tensor_again(std::uintptr_t impl) { graph_record().take_again(reinterpret_cast<at::TensorImpl*>(impl)); }

GraphAttachments graph_attachments() { return {handle().has_value(), graph_record().reference_count()}; }

BirthCounts graph_births() {
  BirthCounts births;
  for (const auto& [address, entry] : graph_record().nodes()) ++births[Counter::live_nodes][entry.birth.step];
  for (const auto& [address, entry] : graph_record().tensors()) ++births[Counter::live_tensors][entry.birth.step];
  return births;
}

}  // namespace stepleak
