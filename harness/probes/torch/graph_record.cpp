// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/torch/graph_record.hpp"

#include <torch/csrc/autograd/variable.h>

#include <algorithm>

namespace stepleak {

void GraphRecord::add_output(const at::Tensor& output, const Birth& birth, const OperatorStart* start) {
  auto* impl = output.unsafeGetTensorImpl();
  const auto* meta = torch::autograd::impl::get_autograd_meta(output);
  // The raw member: Tensor::grad_fn() may regenerate the node of a modified view.
  const auto node = meta != nullptr ? meta->grad_fn_ : nullptr;
  WeakTensor weak_tensor(output.getIntrusivePtr());
  const std::scoped_lock lock(mutex_);
  const auto [tensor, is_new_tensor] = tensors_.try_emplace(impl, TensorEntry{std::move(weak_tensor), birth});
  // Nested operators end first; the outermost one is the name that a user knows. An entry from before
  // this operator's start is its in-place or `out=` argument and keeps its birth.
  const auto is_born_inside = [&](const Birth& known) { return start != nullptr && known.order > start->order; };
  if (!is_new_tensor && is_born_inside(tensor->second.birth)) tensor->second.birth = birth;
  if (!node) return;
  const auto [entry, is_new_node] = nodes_.try_emplace(node.get(), NodeEntry{node, birth});
  if (!is_new_node && (entry->second.node.expired() || is_born_inside(entry->second.birth))) {
    entry->second = NodeEntry{node, birth};  // a new node at a dead one's address, or the outer operator
  }
}

void GraphRecord::prune() {
  const std::scoped_lock lock(mutex_);
  std::erase_if(tensors_, [](const auto& entry) { return entry.second.tensor.expired(); });
  std::erase_if(nodes_, [](const auto& entry) { return entry.second.node.expired(); });
}

void GraphRecord::clear() {
  const std::scoped_lock lock(mutex_);
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
