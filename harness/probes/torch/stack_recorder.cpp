// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/torch/stack_recorder.hpp"

#include <torch/csrc/profiler/combined_traceback.h>
#include <torch/csrc/profiler/unwind/unwind.h>

#include <unordered_set>

#include "harness/probes/symboliser.hpp"
#include "harness/probes/user_frames.hpp"

namespace stepleak {

StackCapture capture_stack() {
  try {
    return std::make_shared<const CapturedStack>(CapturedStack{
        torch::CapturedTraceback::gather(/*python=*/true, /*script=*/false, /*cpp=*/false), torch::unwind::unwind()});
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
