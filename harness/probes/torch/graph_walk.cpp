// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/torch/graph_walk.hpp"

#include <ATen/Context.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <typeinfo>
#include <unordered_set>

#include "harness/probes/torch/compat/python_wrapper.hpp"
#include "harness/probes/torch/tensor_shell.hpp"

namespace stepleak {
namespace {

using Node = torch::autograd::Node;

// Any custom function: the layout of CppNode<T> does not depend on T.
struct AnyFunction : torch::autograd::Function<AnyFunction> {};

// A place and no cast: the node is another CppNode, and the compiler may rely on what a cast claims.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // of a class with bases: for the compiler to support, as both do
constexpr std::size_t kContextOffset = offsetof(torch::autograd::CppNode<AnyFunction>, ctx_);
#pragma GCC diagnostic pop

const torch::autograd::AutogradContext& context_of_custom(const Node* node) {
  const auto* context = reinterpret_cast<const std::byte*>(node) + kContextOffset;
  return *reinterpret_cast<const torch::autograd::AutogradContext*>(context);
}

Node* grad_fn_of(const at::Tensor& tensor) {
  const auto* meta = torch::autograd::impl::get_autograd_meta(tensor);
  return meta != nullptr ? meta->grad_fn_.get() : nullptr;
}

std::vector<at::Tensor> tensors_owned_by(Node* node) {
  std::vector<at::Tensor> owned;
  if (auto* accumulate = dynamic_cast<torch::autograd::AccumulateGrad*>(node)) owned.push_back(accumulate->variable);
  if (std::strstr(typeid(*node).name(), "8autograd7CppNodeI") != nullptr) {
    for (const auto& [name, value] : context_of_custom(node).saved_data) {
      if (value.isTensor()) owned.push_back(value.toTensor());
      if (value.isTensorList()) {
        for (const auto& tensor : value.toTensorVector()) owned.push_back(tensor);
      }
    }
  }
  return owned;
}

// Asked of the pointer: asked of the tensor it would be an operator, which a mode or a subclass may answer.
bool is_pinned(std::uintptr_t storage) {
  try {
    return at::globalContext().isPinnedPtr(reinterpret_cast<const void*>(storage));
  } catch (const c10::Error&) {
    return false;  // CUDA does not answer a child that was forked from a process which has used it
  }
}

// The nodes that a node keeps alive, directly or through the tensors that it owns.
std::vector<Node*> nodes_kept_by(Node* node) {
  std::vector<Node*> kept;
  for (const auto& edge : node->next_edges()) {
    if (edge.function) kept.push_back(edge.function.get());
  }
  for (const auto& tensor : tensors_owned_by(node)) {
    if (auto* from = grad_fn_of(tensor); from != nullptr) kept.push_back(from);
    const auto& grad = tensor.is_leaf() ? tensor.grad() : at::Tensor();
    if (grad.defined() && grad_fn_of(grad) != nullptr) kept.push_back(grad_fn_of(grad));
  }
  return kept;
}

// What ownership among nodes says, from one pass of Tarjan's algorithm over the strongly connected components
// (R. Tarjan, "Depth-first search and linear graph algorithms", 1972), which ends components before their keepers.
class GraphWalk {
 public:
  // `old_nodes`: those whose survival is evidence.
  GraphWalk(const GraphRecord& record, const std::unordered_set<Node*>& old_nodes) : old_nodes_(old_nodes) {
    for (const auto& [node, entry] : record.nodes()) {
      if (auto alive = entry.node.lock()) alive_.push_back(std::move(alive));
    }
    // A custom function's node is made where no operator's end shows it; the tensors of the record lead to it.
    for (const auto& [impl, entry] : record.tensors()) {
      const auto alive = entry.tensor.lock();
      auto* node = alive ? grad_fn_of(at::Tensor(alive)) : nullptr;
      if (node != nullptr) alive_.push_back(node->getptr());
    }
    for (const auto& node : alive_) visit(node.get());
  }

  [[nodiscard]] bool is_sink(Node* node) const { return !has_keeper_.contains(node); }

  // Whether ownership leads from a node back to itself.
  [[nodiscard]] bool is_in_cycle(Node* node) const {
    const auto known = states_.find(node);
    return known != states_.end() && known->second.is_in_cycle;
  }

  // Whether a node is old or keeps an old one alive.
  [[nodiscard]] bool keeps_old(Node* node) const {
    const auto known = states_.find(node);
    return known != states_.end() && known->second.keeps_old;
  }

 private:
  struct State {
    std::size_t index = 0;
    std::size_t lowest = 0;
    bool is_open = true;
    bool is_in_cycle = false;
    bool keeps_old = false;
  };
  struct Visit {
    Node* node;
    std::vector<Node*> kept;
    std::size_t next = 0;
  };

  void visit(Node* start) {
    if (states_.contains(start)) return;
    std::vector<Visit> visits;
    enter(start, visits);
    while (!visits.empty()) {
      auto& visit = visits.back();
      if (visit.next < visit.kept.size()) {
        auto* target = visit.kept[visit.next++];
        if (target != visit.node) has_keeper_.insert(target);
        if (!states_.contains(target)) enter(target, visits);  // `visit` is no longer valid
        continue;
      }
      leave(visit);
      visits.pop_back();
    }
  }

  void enter(Node* node, std::vector<Visit>& visits) {
    const auto index = states_.size();
    states_.emplace(node, State{.index = index, .lowest = index, .keeps_old = old_nodes_.contains(node)});
    open_.push_back(node);
    visits.push_back({.node = node, .kept = nodes_kept_by(node)});
  }

  void leave(const Visit& visit) {
    auto& state = states_.at(visit.node);
    for (auto* target : visit.kept) {
      const auto& kept = states_.at(target);
      if (kept.is_open) state.lowest = std::min(state.lowest, kept.lowest);
      state.keeps_old = state.keeps_old || kept.keeps_old;
      state.is_in_cycle = state.is_in_cycle || target == visit.node;
    }
    if (state.lowest != state.index) return;
    const auto first = std::find(open_.rbegin(), open_.rend(), visit.node).base() - 1;
    const bool is_cycle = open_.end() - first > 1 || state.is_in_cycle;
    const bool keeps_old = std::any_of(first, open_.end(), [this](Node* node) { return states_.at(node).keeps_old; });
    for (auto member = first; member != open_.end(); ++member) {
      auto& closed = states_.at(*member);
      closed.is_open = false;
      closed.is_in_cycle = is_cycle;
      closed.keeps_old = keeps_old;
    }
    open_.erase(first, open_.end());
  }

  const std::unordered_set<Node*>& old_nodes_;
  std::vector<NodeReference> alive_;
  std::unordered_map<Node*, State> states_;
  std::vector<Node*> open_;
  std::unordered_set<Node*> has_keeper_;
};

// How many views of the record keep each base: torch's view metadata holds a strong reference to it.
std::unordered_map<const at::TensorImpl*, std::size_t> views_by_base(const GraphRecord& record) {
  std::unordered_map<const at::TensorImpl*, std::size_t> counts;
  for (const auto& [impl, entry] : record.tensors()) {
    const auto alive = entry.tensor.lock();
    if (!alive) continue;
    const auto* meta = torch::autograd::impl::get_view_autograd_meta(at::Tensor(alive));
    if (meta != nullptr && meta->has_bw_view()) ++counts[meta->get_backward_view().base_.unsafeGetTensorImpl()];
  }
  return counts;
}

// Entries in the order in which they were born: a table has them in that of addresses, which no two runs share.
template <typename Table>
std::vector<const typename Table::value_type*> by_birth(const Table& table) {
  std::vector<const typename Table::value_type*> entries;
  for (const auto& entry : table) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(),
            [](const auto* a, const auto* b) { return a->second.birth.order < b->second.birth.order; });
  return entries;
}

void add_birth(Survivor& survivor, const Birth& birth, StackTable& stacks) {
  survivor.birth_step = birth.step;
  if (birth.op != nullptr) survivor.op = birth.op;
  survivor.is_computed = birth.is_computed;
  survivor.stack = stacks.index_of(birth.stack);
}

}  // namespace

void add_graph_survivors(const GraphRecord& record, StackTable& stacks, Recording& recording) {
  // A graph that is alive because its step has only just ended proves nothing.
  const auto is_old_survivor = [&](const Birth& birth) { return recording.is_proof(birth.step); };
  std::unordered_set<Node*> old_nodes;
  for (const auto& [node, entry] : record.nodes()) {
    if (!entry.node.expired() && is_old_survivor(entry.birth)) old_nodes.insert(node);
  }
  const GraphWalk walk(record, old_nodes);
  for (const auto* born : by_birth(record.nodes())) {
    const auto& [node, entry] = *born;
    if (entry.node.expired() || !is_old_survivor(entry.birth)) continue;
    Survivor survivor{.type = SurvivorType::node, .identity = reinterpret_cast<std::uint64_t>(node)};
    add_birth(survivor, entry.birth, stacks);
    survivor.name = node->name();
    survivor.is_sink = walk.is_sink(node);
    survivor.is_in_cycle = walk.is_in_cycle(node);
    recording.survivors.push_back(std::move(survivor));
  }
  const auto view_counts = views_by_base(record);
  for (const auto* born : by_birth(record.tensors())) {
    const auto& [impl, entry] = *born;
    const auto strong_count = entry.tensor.use_count();
    const auto alive = entry.tensor.lock();
    if (!alive) continue;
    const at::Tensor tensor(alive);
    const auto views = view_counts.find(impl);
    auto* node = grad_fn_of(tensor);
    const bool is_sink = node != nullptr && walk.is_sink(node) && walk.keeps_old(node);
    // Young tensors too: a buffer that is reborn each step is never old.
    if (entry.birth.step < recording.pass.first_step && !is_sink) continue;
    Survivor survivor{.type = SurvivorType::tensor, .identity = reinterpret_cast<std::uint64_t>(impl)};
    add_birth(survivor, entry.birth, stacks);
    const auto shell = shell_of(tensor);
    survivor.device = shell.device;
    survivor.name = std::string(c10::toString(tensor.scalar_type()));
    std::transform(survivor.name.begin(), survivor.name.end(), survivor.name.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    // A Python wrapper owns its tensor too; whether Python code holds the wrapper is for the holder search.
    const std::size_t wrappers = has_owning_wrapper(*impl) ? 1 : 0;
    survivor.is_view_base = views != view_counts.end() && views->second + wrappers >= strong_count;
    survivor.has_graph = node != nullptr;
    survivor.is_sink = is_sink;
    survivor.is_in_cycle = node != nullptr && walk.is_in_cycle(node);
    survivor.dims = shell.dims;
    survivor.is_pinned = shell.storage != 0 && shell.device == kHost && is_pinned(shell.storage);
    survivor.bytes = shell.bytes;
    survivor.storage = shell.storage;
    survivor.storage_bytes = shell.storage_bytes;
    recording.survivors.push_back(std::move(survivor));
  }
}

}  // namespace stepleak
