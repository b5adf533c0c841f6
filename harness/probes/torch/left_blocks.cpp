// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/torch/left_blocks.hpp"

#include <map>
#include <string>

namespace stepleak {
namespace {

// Equal stacks are captured anew each time.
std::string content_of(const CapturedStack& stack) {
  const auto& addresses = stack.addresses;
  return stack.written +
         std::string(reinterpret_cast<const char*>(addresses.data()), addresses.size() * sizeof(addresses[0]));
}

}  // namespace

void add_stacks(const BlockStacks::Table& captures, const std::function<int(const StackCapture&)>& index_of,
                std::vector<LeftBlock>& left) {
  std::map<std::string, int> stacks;
  std::map<std::size_t, int> only;  // by site; kNoStack where there are several
  for (auto& [block, site, step, stack] : left) {
    const auto found = captures.find(block.address);
    if (found == captures.end() || found->second.step != step || !found->second.capture) continue;
    const auto [known, is_new] = stacks.try_emplace(content_of(*found->second.capture), kNoStack);
    if (is_new) known->second = index_of(found->second.capture);
    stack = known->second;
    const auto [first, is_first] = only.try_emplace(site, stack);
    if (!is_first && first->second != stack) first->second = kNoStack;
  }
  for (auto& block : left) {
    const auto known = only.find(block.site);
    if (block.stack == kNoStack && block.site != 0 && known != only.end()) block.stack = known->second;
  }
}

}  // namespace stepleak
