// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "harness/probes/torch/graph_record.hpp"
#include "harness/probes/torch/stack_recorder.hpp"
#include "harness/trace/recording.hpp"

namespace stepleak {

/// Adds one survivor to the recording for each tensor of the record that was born in the record pass, for each node
/// that was and is at least two boundaries old, and for each sink that keeps such a node, whatever its age.
///
/// Edges of ownership that are followed: tensor -> grad_fn, tensor -> grad, node -> next nodes,
/// AccumulateGrad -> its variable, C++ custom function -> the tensors in `ctx->saved_data`, and node -> what
/// its Python or C++ hooks own is not. A sink is a node that no other node of the record leads to, or the
/// tensor whose grad_fn it is. Call it only when no step runs: the graph is read without locks.
void add_graph_survivors(const GraphRecord& record, StackTable& stacks, Recording& recording);

}  // namespace stepleak
