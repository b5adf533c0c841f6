// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/cpp_reach.hpp"

#include <algorithm>
#include <vector>

namespace stepleak {
namespace {

// A step that reaches more of a project than this reaches all of it.
constexpr std::size_t kMostReached = 2000;

}  // namespace

bool CppStep::contains(const TokenAt& at) const {
  for (auto index = at.file->callable_of(at.token); index >= 0;
       index = at.file->callable_of(at.file->block(index).head)) {
    if (reached.contains({at.file, index})) return true;
  }
  return false;
}

bool CppStep::is_in(const CppFile& file, int callable) const {
  const auto& body = file.block(callable).body;
  return std::any_of(roots.begin(), roots.end(), [&](const CppBlockAt& root) {
    return root.file == &file && root.index != callable && body.contains(root.block().body.first);
  });
}

std::set<CppBlockAt> reached_from(const std::set<CppBlockAt>& callables, const CppNames& names) {
  auto reached = callables;
  std::vector<CppBlockAt> waiting(callables.begin(), callables.end());
  while (!waiting.empty() && reached.size() < kMostReached) {
    const auto at = waiting.back();
    waiting.pop_back();
    const auto& body = at.block().body;
    for (auto i = body.first; i < body.end; ++i) {
      if (!at.file->token(i).is_name()) continue;
      for (const auto& function : names.project().functions(at.file->token(i).text)) {
        if (reached.contains(function) || !names.may_call({at.file, i}, function)) continue;
        reached.insert(function);
        waiting.push_back(function);
      }
    }
  }
  return reached;
}

}  // namespace stepleak
