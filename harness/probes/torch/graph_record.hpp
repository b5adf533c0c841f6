// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "harness/base/mapped_memory.hpp"
#include "harness/probes/torch/compat/node_reference.hpp"
#include "harness/probes/torch/stack_recorder.hpp"

namespace stepleak {

/// One birth: what operator returned it, when, and from where.
struct Birth {
  std::int64_t step = 0;
  std::uint64_t order = 0;   ///< counts births over all threads
  const char* op = nullptr;  ///< record pass only; lives for ever
  bool is_computed = false;  ///< record pass only: the operator read another tensor
  StackCapture stack;        ///< record pass only
};

/// An operator that has started, as it is remembered until it ends.
struct OperatorStart {
  std::uint64_t order = ~std::uint64_t{0};  ///< births with a larger order happened inside; else not known
  bool is_computed = false;
  c10::SmallVector<const at::TensorImpl*, 8> inputs;

  [[nodiscard]] bool was_given(const at::Tensor& tensor) const;
};

/// Weak references to the tensors and nodes that operators returned, tensors that were changed in place and have a
/// graph among them, and those of which a view was changed so.
///
/// While a step runs an output is only appended to a list: almost all of them die within their step. What has
/// survived enters the tables at the boundary, and where the list is full: with ever more operators a step (hooks that
/// pile up) it would else grow on the heap as a leak does.
/// Thread-safe. The lock is a leaf: nothing under it takes the GIL or another lock.
class GraphRecord {
 public:
  using WeakTensor = c10::weak_intrusive_ptr<at::TensorImpl, at::UndefinedTensorImpl>;
  using Node = torch::autograd::Node;

  struct TensorEntry {
    WeakTensor tensor;
    Birth birth;             // of one that was given: before all steps
    bool was_given = false;  // to each operator that was seen to return it
  };
  struct NodeEntry {
    WeakNode node;
    Birth birth;
  };
  using Tensors = std::pmr::unordered_map<at::TensorImpl*, TensorEntry>;
  using Nodes = std::pmr::unordered_map<Node*, NodeEntry>;

  /// The end of an operator: records one of its outputs; `birth` tells what is new about it.
  void add_output(const at::Tensor& output, const Birth& birth, const OperatorStart& start);
  /// A new run starts: forgets everything, and takes the room that a step needs.
  void start();
  /// Forgets everything.
  void clear();
  /// Takes what has survived so far in, and drops what has died.
  void prune();

  /// Drops the weak reference to a living tensor while what a user does with it allows none, and takes it again.
  void let_go(at::TensorImpl* tensor);
  void take_again(at::TensorImpl* tensor);

  /// Weak references to tensors that are held now.
  [[nodiscard]] std::int64_t reference_count() const;

  /// Around a fork; in the child everything is forgotten.
  void lock_for_fork() { mutex_.lock(); }
  void unlock_in_parent() { mutex_.unlock(); }
  void forget_in_child();

  /// All entries, as of the last boundary.
  struct Counts {
    std::int64_t tensors = 0;
    std::int64_t nodes = 0;
  };
  [[nodiscard]] Counts counts() const;
  [[nodiscard]] std::uint64_t next_order() { return order_.fetch_add(1, std::memory_order_relaxed) + 1; }

  /// The entries themselves, as of the last boundary; only at a quiescent point.
  [[nodiscard]] const Tensors& tensors() const { return tensors_; }
  [[nodiscard]] const Nodes& nodes() const { return nodes_; }

 private:
  static constexpr std::size_t kMostOutputs = 4096;

  struct Output {
    at::TensorImpl* tensor_address;
    WeakTensor tensor;
    Node* node_address;
    WeakNode node;
    Birth birth;
    std::uint64_t start_order;  // births with a larger one happened inside the operator
    bool is_given;              // one of its inputs: changed in place, `out=`, or handed through, as `to()` does
  };
  static Output output_of(const at::Tensor& tensor, const Birth& birth, const OperatorStart& start, bool is_given);
  void take_in(const Output& output);
  // Calls `visit` with each reference to a tensor, as it stands in the lists.
  template <typename Visit>
  void for_each_reference_to(at::TensorImpl* tensor, const Visit& visit);

  mutable std::mutex mutex_;
  std::atomic<std::uint64_t> order_{0};
  std::vector<Output> outputs_;  // since the last boundary, in the order in which operators ended
  // Of entries that live as long as a tensor or a node, a hundred bytes each.
  std::pmr::unsynchronized_pool_resource memory_{mapped_memory()};
  Tensors tensors_{&memory_};
  Nodes nodes_{&memory_};
};

}  // namespace stepleak
