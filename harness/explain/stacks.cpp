// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/explain/stacks.hpp"

#include <unordered_set>
#include <utility>

#include "harness/explain/symboliser.hpp"

namespace stepleak {

NamedStacks named_stacks(const std::vector<RawStack>& stacks, const CodeFolders& folders) {
  std::unordered_set<const void*> addresses;
  for (const auto& stack : stacks) addresses.insert(stack.addresses.begin(), stack.addresses.end());
  auto native = symbolise_addresses({addresses.begin(), addresses.end()});
  SourceLines sources;
  const auto named = [&](Frame frame) {
    frame.owner = owner_of(frame, folders);
    // A notebook's cell, which no file has, comes with its text.
    if (frame.owner != FrameOwner::runtime && frame.text.empty()) frame.text = sources.line_of(frame.file, frame.line);
    return frame;
  };
  std::vector<std::vector<Frame>> result(stacks.size());
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    for (const auto& frame : stacks[i].frames) result[i].push_back(named(frame));
    for (const auto* address : stacks[i].addresses) {
      const auto frames = native.frames.find(address);
      if (frames == native.frames.end()) continue;
      for (const auto& frame : frames->second) result[i].push_back(named(frame));
    }
  }
  return {std::move(result), std::move(native.notes)};
}

}  // namespace stepleak
