// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/torch/graph_record.hpp"

#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace stepleak {

bool OperatorStart::was_given(const at::Tensor& tensor) const {
  return std::find(inputs.begin(), inputs.end(), tensor.unsafeGetTensorImpl()) != inputs.end();
}

namespace {

// Whose graph a change in place makes longer, where it is a view that is changed; null elsewhere.
const at::Tensor* base_of(const at::Tensor& tensor) {
  const auto* meta = torch::autograd::impl::get_view_autograd_meta(tensor);
  return meta != nullptr && meta->has_bw_view() ? &meta->get_backward_view().base_ : nullptr;
}

}  // namespace

GraphRecord::Output GraphRecord::output_of(const at::Tensor& tensor, const Birth& birth, const OperatorStart& start,
                                           bool is_given) {
  const auto* meta = torch::autograd::impl::get_autograd_meta(tensor);
  // The raw member: Tensor::grad_fn() may regenerate the node of a modified view.
  auto* node_address = meta != nullptr ? meta->grad_fn_.get() : nullptr;
  auto node = node_address != nullptr ? WeakNode(meta->grad_fn_) : WeakNode(NodeReference());
  return {tensor.unsafeGetTensorImpl(),
          WeakTensor(tensor.getIntrusivePtr()),
          node_address,
          std::move(node),
          birth,
          start.order,
          is_given};
}

void GraphRecord::add_output(const at::Tensor& output, const Birth& birth, const OperatorStart& start) {
  const bool is_given = start.was_given(output);
  const auto* base = is_given ? base_of(output) : nullptr;
  auto own = output_of(output, birth, start, is_given);
  auto of_base = base != nullptr ? std::optional(output_of(*base, birth, start, true)) : std::nullopt;
  bool is_full = false;
  {
    const std::scoped_lock lock(mutex_);
    outputs_.push_back(std::move(own));
    if (of_base) outputs_.push_back(*std::move(of_base));
    is_full = outputs_.size() + 1 >= kMostOutputs;
  }
  if (is_full) prune();
}

void GraphRecord::take_in(const Output& output) {
  // Nested operators end first; the outermost one is the name that a user knows. An entry from before
  // this operator's start is its in-place or `out=` argument and keeps its birth.
  const auto is_born_inside = [&](const Birth& known) { return known.order > output.start_order; };
  if (!output.tensor.expired()) {
    if (!output.is_given) {
      const auto [tensor, is_new] =
          tensors_.try_emplace(output.tensor._unsafe_get_target(), TensorEntry{output.tensor, output.birth});
      auto& known = tensor->second;
      if (!is_new && (known.was_given || is_born_inside(known.birth))) known = {output.tensor, output.birth};
    } else if (!output.node.expired()) {
      // The set-up made it, or an operator around this one, which tells. Its graph may grow: `total += loss`.
      tensors_.try_emplace(output.tensor._unsafe_get_target(), TensorEntry{output.tensor, {}, true});
    }
  }
  if (!output.node.expired()) {
    const auto [entry, is_new] = nodes_.try_emplace(output.node_address, NodeEntry{output.node, output.birth});
    // A new node at a dead one's address, or the outer operator.
    const bool is_replaced = !is_new && (entry->second.node.expired() || is_born_inside(entry->second.birth));
    if (is_replaced) entry->second = NodeEntry{output.node, output.birth};
  }
}

namespace {

// Takes what has died out of a table, for the caller to destroy.
template <typename Table, typename IsDead>
std::vector<typename Table::mapped_type> take_dead(Table& table, const IsDead& is_dead) {
  std::vector<typename Table::mapped_type> dead;
  for (auto entry = table.begin(); entry != table.end();) {
    const auto here = entry++;
    if (!is_dead(here->second)) continue;
    dead.push_back(std::move(here->second));
    table.erase(here);
  }
  return dead;
}

constexpr auto kAll = [](const auto& /*entry*/) { return true; };

// Empties a container without an end to what was in it.
template <typename Container>
void give_up(Container& container) {
  new Container(std::move(container));
  container = {};
}

}  // namespace

// What holds a stack is destroyed without the lock: the end of a stack takes a lock of torch's, under which torch may
// free a tensor.
void GraphRecord::prune() {
  std::vector<Output> outputs;
  std::vector<TensorEntry> dead_tensors;
  std::vector<NodeEntry> dead_nodes;
  {
    const std::scoped_lock lock(mutex_);
    outputs.swap(outputs_);
    for (const auto& output : outputs) take_in(output);
    dead_tensors = take_dead(tensors_, [](const TensorEntry& entry) { return entry.tensor.expired(); });
    dead_nodes = take_dead(nodes_, [](const NodeEntry& entry) { return entry.node.expired(); });
  }
  outputs.clear();
  const std::scoped_lock lock(mutex_);
  // The list keeps its room: the host heap is measured.
  if (outputs_.empty()) outputs_.swap(outputs);
}

void GraphRecord::start() {
  clear();
  const std::scoped_lock lock(mutex_);
  outputs_.reserve(kMostOutputs);
}

void GraphRecord::clear() {
  std::vector<Output> outputs;
  std::vector<TensorEntry> tensors;
  std::vector<NodeEntry> nodes;
  const std::scoped_lock lock(mutex_);
  outputs_.swap(outputs);
  tensors = take_dead(tensors_, kAll);
  nodes = take_dead(nodes_, kAll);
}

template <typename Visit>
void GraphRecord::for_each_reference_to(at::TensorImpl* tensor, const Visit& visit) {
  const std::scoped_lock lock(mutex_);
  for (auto& output : outputs_) {
    if (output.tensor_address == tensor) visit(output.tensor);
  }
  if (const auto known = tensors_.find(tensor); known != tensors_.end()) visit(known->second.tensor);
}

void GraphRecord::let_go(at::TensorImpl* tensor) {
  for_each_reference_to(tensor, [](WeakTensor& reference) { reference.reset(); });
}

void GraphRecord::take_again(at::TensorImpl* tensor) {
  for_each_reference_to(tensor, [&](WeakTensor& reference) {
    if (reference._unsafe_get_target() != tensor) reference = WeakTensor::reclaim_copy(tensor);
  });
}

std::int64_t GraphRecord::reference_count() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<std::int64_t>(outputs_.size() + tensors_.size());
}

void GraphRecord::forget_in_child() {
  for (auto& output : outputs_) {
    output.tensor.reset();
    output.node.reset();
  }
  for (auto& [address, entry] : tensors_) entry.tensor.reset();
  for (auto& [address, entry] : nodes_) entry.node.reset();
  // The rest is given up and not destroyed: the end of a stack takes a lock of torch's, whose holder was not forked.
  give_up(outputs_);
  give_up(tensors_);
  give_up(nodes_);
  mutex_.unlock();
}

GraphRecord::Counts GraphRecord::counts() const {
  const std::scoped_lock lock(mutex_);
  return {static_cast<std::int64_t>(tensors_.size()), static_cast<std::int64_t>(nodes_.size())};
}

}  // namespace stepleak
