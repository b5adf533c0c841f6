// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/torch/stack_recorder.hpp"

#include <torch/csrc/profiler/combined_traceback.h>

#include <fstream>

#include "harness/probes/user_frames.hpp"

namespace stepleak {
namespace {

/// Lines of source files, each file read once.
class SourceLines {
 public:
  [[nodiscard]] std::string line_of(const std::string& file, int line) {
    const auto [entry, is_new] = files_.try_emplace(file);
    if (is_new) {
      std::ifstream in(file);
      for (std::string text; std::getline(in, text);) entry->second.push_back(text);
    }
    if (line < 1 || static_cast<std::size_t>(line) > entry->second.size()) return {};
    const auto& text = entry->second[static_cast<std::size_t>(line) - 1];
    const auto begin = text.find_first_not_of(" \t");
    return begin == std::string::npos ? std::string() : text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
  }

 private:
  std::unordered_map<std::string, std::vector<std::string>> files_;
};

}  // namespace

StackCapture capture_stack() {
  try {
    return torch::CapturedTraceback::gather(/*python=*/true, /*script=*/false, /*cpp=*/true);
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
  std::vector<torch::CapturedTraceback*> to_symbolise;
  for (const auto& capture : captures_) to_symbolise.push_back(capture.get());
  std::vector<std::vector<Frame>> stacks(captures_.size());
  if (to_symbolise.empty()) return stacks;
  SourceLines sources;
  const auto symbols = torch::symbolize(to_symbolise);
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    for (const auto index : symbols.tracebacks.at(i)) {
      const auto& symbol = symbols.all_frames.at(index);
      Frame frame{symbol.filename, static_cast<int>(symbol.lineno), symbol.funcname};
      frame.is_user = is_user_frame(frame);
      if (frame.is_user) frame.text = sources.line_of(frame.file, frame.line);
      stacks[i].push_back(std::move(frame));
    }
  }
  return stacks;
}

}  // namespace stepleak
