// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/torch/graph_record.hpp"

#include <torch/csrc/autograd/variable.h>

#include <algorithm>

namespace stepleak {

void GraphRecord::add_output(const at::Tensor& output, const Birth& birth, const OperatorStart* start) {
  // An operator that is not known to have started counts as one that began after all births.
  const auto start_order = start != nullptr ? start->order : ~std::uint64_t{0};
  const auto* meta = torch::autograd::impl::get_autograd_meta(output);
  // The raw member: Tensor::grad_fn() may regenerate the node of a modified view.
  auto* node_address = meta != nullptr ? meta->grad_fn_.get() : nullptr;
  auto node = node_address != nullptr ? std::weak_ptr<Node>(meta->grad_fn_) : std::weak_ptr<Node>();
  WeakTensor tensor(output.getIntrusivePtr());
  const std::scoped_lock lock(mutex_);
  outputs_.push_back({std::move(tensor), node_address, std::move(node), birth, start_order});
}

void GraphRecord::take_in(const Output& output) {
  // Nested operators end first; the outermost one is the name that a user knows. An entry from before
  // this operator's start is its in-place or `out=` argument and keeps its birth.
  const auto is_born_inside = [&](const Birth& known) { return known.order > output.start_order; };
  if (!output.tensor.expired()) {
    const auto [tensor, is_new] =
        tensors_.try_emplace(output.tensor._unsafe_get_target(), TensorEntry{output.tensor, output.birth});
    if (!is_new && is_born_inside(tensor->second.birth)) tensor->second.birth = output.birth;
  }
  if (!output.node.expired()) {
    const auto [entry, is_new] = nodes_.try_emplace(output.node_address, NodeEntry{output.node, output.birth});
    // A new node at a dead one's address, or the outer operator.
    const bool is_replaced = !is_new && (entry->second.node.expired() || is_born_inside(entry->second.birth));
    if (is_replaced) entry->second = NodeEntry{output.node, output.birth};
  }
}

void GraphRecord::prune() {
  const std::scoped_lock lock(mutex_);
  for (const auto& output : outputs_) take_in(output);
  outputs_.clear();
  std::erase_if(tensors_, [](const auto& entry) { return entry.second.tensor.expired(); });
  std::erase_if(nodes_, [](const auto& entry) { return entry.second.node.expired(); });
}

void GraphRecord::clear() {
  const std::scoped_lock lock(mutex_);
  outputs_.clear();
  tensors_.clear();
  nodes_.clear();
}

GraphRecord::Counts GraphRecord::counts() const {
  const std::scoped_lock lock(mutex_);
  return {static_cast<std::int64_t>(tensors_.size()), static_cast<std::int64_t>(nodes_.size())};
}

GraphRecord::Counts GraphRecord::counts(std::int64_t before_step, std::int64_t stride) const {
  const auto is_counted = [=](const auto& entry) {
    const auto step = entry.second.birth.step;
    return step < before_step && step % stride == 0;
  };
  const std::scoped_lock lock(mutex_);
  return {std::count_if(tensors_.begin(), tensors_.end(), is_counted),
          std::count_if(nodes_.begin(), nodes_.end(), is_counted)};
}

}  // namespace stepleak
