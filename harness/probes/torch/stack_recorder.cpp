// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/torch/stack_recorder.hpp"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/profiler/combined_traceback.h>
#include <torch/csrc/profiler/unwind/unwind.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <unordered_set>

#include "harness/probes/symboliser.hpp"
#include "harness/probes/user_frames.hpp"

namespace stepleak {

namespace {

std::atomic<StackSource> stack_source{StackSource::native};
std::atomic<std::thread::id> step_thread;

struct OpenOperators {
  int depth = 0;
  int shared_from = 0;  // depth of the outermost operator of torch's own; 0: there is none
  StackCapture capture;
};
thread_local OpenOperators open_operators;

// A backward pass on a GPU runs on a thread of the engine: no frame of the user's, and the GIL to wait for.
bool has_user_frames() {
  return std::this_thread::get_id() == step_thread.load(std::memory_order_relaxed) ||
         torch::autograd::get_current_node() == nullptr;
}

}  // namespace

void set_stack_source(StackSource source) {
  stack_source = source;
  step_thread = std::this_thread::get_id();
}

void enter_operator(const char* name) {
  auto& open = open_operators;
  ++open.depth;
  if (open.shared_from == 0 && std::strncmp(name, "aten::", 6) == 0) open.shared_from = open.depth;
}

void leave_operator() {
  auto& open = open_operators;
  if (open.depth == open.shared_from) {
    open.shared_from = 0;
    open.capture = nullptr;
  }
  open.depth = std::max(0, open.depth - 1);
}

StackCapture capture_operator_stack() {
  auto& open = open_operators;
  if (open.shared_from == 0) return capture_stack();
  if (!open.capture) open.capture = capture_stack();
  return open.capture;
}

StackCapture capture_stack() {
  try {
    const bool is_python = stack_source.load(std::memory_order_relaxed) == StackSource::python;
    if (is_python && !has_user_frames()) return nullptr;
    return std::make_shared<const CapturedStack>(
        CapturedStack{torch::CapturedTraceback::gather(is_python, /*script=*/false, /*cpp=*/false),
                      is_python ? std::vector<void*>() : torch::unwind::unwind()});
  } catch (...) {
    return nullptr;  // a stack that cannot be unwound must not fail the user's step
  }
}

int StackTable::index_of(const StackCapture& capture) {
  if (!capture) return -1;
  const auto [entry, is_new] = indices_.try_emplace(capture.get(), static_cast<int>(captures_.size()));
  if (is_new) captures_.push_back(capture);
  return entry->second;
}

std::vector<std::vector<Frame>> StackTable::symbolise() const {
  std::vector<torch::CapturedTraceback*> tracebacks;
  std::unordered_set<const void*> addresses;
  for (const auto& capture : captures_) {
    tracebacks.push_back(capture->python.get());
    addresses.insert(capture->addresses.begin(), capture->addresses.end());
  }
  std::vector<std::vector<Frame>> stacks(captures_.size());
  if (tracebacks.empty()) return stacks;
  SourceLines sources;
  const auto add = [&](Frame frame, std::vector<Frame>& stack) {
    frame.is_user = is_user_frame(frame);
    if (frame.is_user) frame.text = sources.line_of(frame.file, frame.line);
    stack.push_back(std::move(frame));
  };
  const auto python = torch::symbolize(tracebacks);
  const auto native = symbolise_addresses({addresses.begin(), addresses.end()});
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    for (const auto index : python.tracebacks.at(i)) {
      const auto& symbol = python.all_frames.at(index);
      add({symbol.filename, static_cast<int>(symbol.lineno), symbol.funcname}, stacks[i]);
    }
    for (const auto* address : captures_[i]->addresses) {
      const auto frames = native.find(address);
      if (frames == native.end()) continue;
      for (const auto& frame : frames->second) add(frame, stacks[i]);
    }
  }
  return stacks;
}

}  // namespace stepleak
