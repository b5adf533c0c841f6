// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/trace/survivor_group.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "harness/trace/frames.hpp"
#include "harness/trace/largest_groups.hpp"

namespace stepleak {
namespace {

constexpr std::size_t kMostFrames = 24;

// As a report shows them, but with what called the user's code and each frame of the libraries.
std::vector<Frame> shown_frames(const std::vector<Frame>& stack) {
  const auto is_python = [](const Frame& frame) { return frame.file.ends_with(".py"); };
  const auto is_named = [](const Frame& frame) { return frame.owner != FrameOwner::runtime; };
  const bool has_python =
      std::any_of(stack.begin(), stack.end(), [&](const Frame& frame) { return is_named(frame) && is_python(frame); });
  std::vector<Frame> shown;
  for (const auto& frame : stack) {
    if (is_named(frame) && (!has_python || is_python(frame)) && shown.size() < kMostFrames) shown.push_back(frame);
  }
  return shown;
}

std::string key_of(const std::vector<Frame>& stack) {
  std::string key;
  for (const auto& frame : stack) key += frame.file + ':' + std::to_string(frame.line) + ':' + frame.function + '\n';
  return key;
}

}  // namespace

std::vector<SurvivorGroup> survivor_groups(const Recording& recording) {
  std::map<std::string, SurvivorGroup> by_stack;
  std::vector<std::vector<Frame>> stacks;
  for (const auto& stack : recording.stacks) stacks.push_back(shown_frames(stack));
  for (const auto& survivor : recording.survivors) {
    if (!is_old(recording, survivor)) continue;
    const auto stack = survivor.stack < 0 ? std::vector<Frame>() : stacks.at(static_cast<std::size_t>(survivor.stack));
    auto& group = by_stack[key_of(stack)];
    const bool is_within_a_block = survivor.type == SurvivorType::tensor || survivor.type == SurvivorType::node;
    if (!is_within_a_block) group.bytes += survivor.bytes;
    if (group.op.empty()) group.op = survivor.op;
    if (group.count == 0) group.stack = stack;
    ++group.count;
  }
  std::vector<SurvivorGroup> groups;
  for (auto& [key, group] : by_stack) groups.push_back(std::move(group));
  return largest_groups(std::move(groups), kMostGroups);
}

}  // namespace stepleak
