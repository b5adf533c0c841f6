// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/torch/stack_recorder.hpp"

#include <execinfo.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/profiler/combined_traceback.h>
#include <torch/csrc/profiler/unwind/unwind.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>

#include "harness/probes/python_frames.hpp"

namespace stepleak {

namespace {

std::atomic<StackKind> stack_kind{StackKind::native};
std::atomic<std::thread::id> step_thread;

struct OpenOperators {
  std::int64_t run = 0;
  int depth = 0;
  int shared_from = 0;  // depth of the outermost operator of torch's own; 0: there is none
  StackCapture capture;
};
thread_local OpenOperators open_operators;

// Of this run: an operator that was under way where an earlier run ended has left its own behind.
std::atomic<std::int64_t> run_number{0};
OpenOperators& operators_here() {
  const auto run = run_number.load(std::memory_order_relaxed);
  if (open_operators.run != run) open_operators = {.run = run};
  return open_operators;
}

// A backward pass on a GPU runs on a thread of the engine: no frame of the user's, and the GIL to wait for.
bool has_user_frames() {
  return std::this_thread::get_id() == step_thread.load(std::memory_order_relaxed) ||
         torch::autograd::get_current_node() == nullptr;
}

enum class Gil : std::uint8_t { may_be_taken, only_if_held };

CapturedStack python_stack(Gil gil) {
  if (gil == Gil::may_be_taken || holds_gil()) {
    return {.python = torch::CapturedTraceback::gather(/*python=*/true, /*script=*/false, /*cpp=*/false)};
  }
  return {.written = write_python_frames()};
}

StackCapture capture_stack(Gil gil) {
  try {
    if (stack_kind.load(std::memory_order_relaxed) == StackKind::native) {
      return std::make_shared<const CapturedStack>(CapturedStack{.addresses = torch::unwind::unwind()});
    }
    if (!has_user_frames()) return nullptr;
    return std::make_shared<const CapturedStack>(python_stack(gil));
  } catch (...) {
    return nullptr;  // a stack that cannot be unwound must not fail the user's step
  }
}

// torch imports modules for it, which a step may have forbidden. What survives has its stack's index all the same: a
// place that is not known costs no verdict.
torch::SymbolizedTracebacks symbolised(const std::vector<torch::CapturedTraceback*>& tracebacks) try {
  return torch::symbolize(tracebacks);
} catch (const std::exception&) {
  return {};
}

}  // namespace

void set_stack_source(StackKind kind) {
  stack_kind = kind;
  step_thread = std::this_thread::get_id();
  ++run_number;
}

void enter_operator(const char* name) {
  auto& open = operators_here();
  ++open.depth;
  if (open.shared_from != 0 || std::strncmp(name, "aten::", 6) != 0) return;
  open.shared_from = open.depth;
  open.capture = capture_stack(Gil::may_be_taken);
}

void leave_operator() {
  auto& open = operators_here();
  if (open.depth == open.shared_from) {
    open.shared_from = 0;
    open.capture = nullptr;
  }
  open.depth = std::max(0, open.depth - 1);
}

StackCapture capture_operator_stack() {
  const auto& open = operators_here();
  return open.shared_from != 0 ? open.capture : capture_stack(Gil::only_if_held);
}

StackCapture capture_stack_in_malloc() {
  CapturedStack stack;
  if (stack_kind.load(std::memory_order_relaxed) == StackKind::native) {
    constexpr int kMostFrames = 48;
    stack.addresses.resize(kMostFrames);
    stack.addresses.resize(static_cast<std::size_t>(::backtrace(stack.addresses.data(), kMostFrames)));
  } else if (has_user_frames()) {
    stack.written = write_python_frames();
  }
  const bool is_empty = stack.addresses.empty() && stack.written.empty();
  return is_empty ? nullptr : std::make_shared<const CapturedStack>(std::move(stack));
}

int StackTable::index_of(const StackCapture& capture) {
  if (!capture) return -1;
  const auto [entry, is_new] = indices_.try_emplace(capture.get(), static_cast<int>(captures_.size()));
  if (is_new) captures_.push_back(capture);
  return entry->second;
}

void StackTable::visit_code(const std::function<void(void*)>& visit) const {
  const auto tell = [](void* code, void* told) {
    (*static_cast<const std::function<void(void*)>*>(told))(code);
    return 0;
  };
  auto* const told = const_cast<std::function<void(void*)>*>(&visit);
  for (const auto& capture : captures_) {
    if (capture->python) capture->python->traversePython(tell, told);
  }
}

std::vector<RawStack> StackTable::take_stacks() {
  const auto captures = std::exchange(captures_, {});
  indices_.clear();
  std::vector<RawStack> stacks(captures.size());
  if (captures.empty()) return stacks;
  std::vector<torch::CapturedTraceback*> tracebacks;
  for (const auto& capture : captures) {
    if (capture->python) tracebacks.push_back(capture->python.get());
  }
  const auto python = symbolised(tracebacks);
  auto traceback = python.tracebacks.begin();
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    if (captures[i]->python && traceback != python.tracebacks.end()) {
      for (const auto index : *traceback++) {
        const auto& symbol = python.all_frames.at(index);
        stacks[i].frames.push_back({symbol.filename, static_cast<int>(symbol.lineno), symbol.funcname});
      }
    }
    for (auto& frame : parse_python_frames(captures[i]->written)) stacks[i].frames.push_back(std::move(frame));
    stacks[i].addresses.assign(captures[i]->addresses.begin(), captures[i]->addresses.end());
  }
  return stacks;
}

}  // namespace stepleak
