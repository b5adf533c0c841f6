// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/cpp_reach.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "harness/sources/cpp_callbacks.hpp"
#include "harness/sources/cpp_threads.hpp"

namespace stepleak {
namespace {

// A step that reaches more of a project than this reaches all of it.
constexpr std::size_t kMostReached = 2000;

// Whether somebody else may run a lambda whenever he likes, as a thread does: what is put into a variable that its
// function does nothing with but call it runs where that does.
bool is_handed_on(const CppBlockAt& lambda, const CppBlockAt& function) {
  const auto& file = *lambda.file;
  const auto head = lambda.block().head;
  if (head < 2 || !file.token(head - 1).is("=")) return true;
  const auto name = file.token(head - 2).text;
  const auto& body = function.block().body;
  for (auto i = body.first; i < body.end; ++i) {
    if (i != head - 2 && file.token(i).is_name() && file.token(i).text == name && !file.token(i + 1).is("("))
      return true;
  }
  return false;
}

// Which names are variables is asked once of each: most that are called are functions.
class Variables {
 public:
  explicit Variables(const CppNames& names) : project_(names.project()) {}

  // Of the last token of an expression.
  bool may_be_called(const TokenAt& last) {
    const auto& file = *last.file;
    const auto& token = file.token(last.token);
    if (!file.token(last.token + 1).is("(")) return false;
    if (!token.is_name()) return token.is("]") || token.is(")");
    const auto [known, is_new] = is_variable_.try_emplace(token.text, false);
    if (is_new) {
      const auto& uses = project_.uses(token.text);
      known->second =
          std::any_of(uses.begin(), uses.end(), [](const TokenAt& use) { return use.file->is_declaration(use.token); });
    }
    return known->second;
  }

 private:
  const CppProject& project_;
  std::map<std::string_view, bool> is_variable_;
};

// The loop over the steps that all of a function's lines are in.
std::optional<TokenRange> loop_around(const CppBlockAt& callable, const std::set<int>& lines) {
  if (!has_loop_of_steps(callable)) return std::nullopt;
  const auto& file = *callable.file;
  const auto& body = callable.block().body;
  std::set<int> loops;
  for (auto i = body.first; i < body.end; ++i) {
    if (lines.contains(file.token(i).line)) loops.insert(outermost_loop({&file, i}, callable.index));
  }
  if (loops.size() != 1 || *loops.begin() < 0) return std::nullopt;
  const auto& loop = file.block(*loops.begin());
  return TokenRange{std::min(loop.head, loop.body.first), loop.body.end};
}

}  // namespace

bool CppStep::contains(const TokenAt& at) const {
  int inner = -1;
  for (auto index = at.file->callable_of(at.token); index >= 0;
       index = at.file->callable_of(at.file->block(index).head)) {
    const auto loop = loops.find({at.file, index});
    if (loop != loops.end()) {
      return loop->second.contains(at.token) || (inner >= 0 && is_handed_on({at.file, inner}, {at.file, index}));
    }
    if (reached.contains({at.file, index})) return true;
    inner = index;
  }
  return false;
}

bool CppStep::is_in(const CppFile& file, int callable) const {
  const auto& body = file.block(callable).body;
  return std::any_of(roots.begin(), roots.end(), [&](const CppBlockAt& root) {
    return root.file == &file && root.index != callable && body.contains(root.block().body.first);
  });
}

bool has_loop_of_steps(const CppBlockAt& callable) {
  const auto& file = *callable.file;
  std::string_view watch;
  for (auto i = callable.block().body.first; i < callable.block().body.end; ++i) {
    const auto& token = file.token(i);
    if (token.is("Watch") && file.token(i - 1).is("::")) return true;
    if (token.is("Watch") && file.token(i + 1).is_name()) watch = file.token(i + 1).text;
    if (token.is("step") && file.token(i - 1).is(".") && !watch.empty() && file.token(i - 2).text == watch) return true;
  }
  return false;
}

int outermost_loop(const TokenAt& at, int callable) {
  int loop = -1;
  for (auto block = at.file->block_of(at.token); block >= 0 && block != callable;
       block = at.file->block(block).parent) {
    if (at.file->block(block).type == CppBlock::Type::loop) loop = block;
  }
  return loop;
}

CppStep step_from(const std::map<CppBlockAt, std::set<int>>& roots, const std::set<CppBlockAt>& callables,
                  const CppNames& names) {
  CppStep step{.reached = callables};
  for (const auto& [root, lines] : roots) {
    step.roots.insert(root);
    if (const auto loop = loop_around(root, lines); loop.has_value()) step.loops.emplace(root, *loop);
  }
  Variables variables(names);
  std::vector<CppBlockAt> waiting(callables.begin(), callables.end());
  const auto reach = [&](const CppBlockAt& function) {
    if (step.reached.insert(function).second) waiting.push_back(function);
  };
  for (const auto& function : run_by_threads(names)) reach(function);
  while (!waiting.empty() && step.reached.size() < kMostReached) {
    const auto at = waiting.back();
    waiting.pop_back();
    const auto& file = *at.file;
    const auto& body = at.block().body;
    const bool has_loop = step.loops.contains(at);
    for (auto i = body.first; i < body.end; ++i) {
      const TokenAt token{&file, i};
      if (has_loop && !step.contains(token)) continue;
      if (file.token(i).is_name()) {
        for (const auto& function : names.project().functions(file.token(i).text)) {
          if (!step.reached.contains(function) && names.may_call(token, function)) reach(function);
        }
      }
      if (!variables.may_be_called(token)) continue;
      for (const auto& callback : called_back(token, names)) {
        step.called_at[callback].push_back(token);
        reach(callback);
      }
    }
  }
  return step;
}

}  // namespace stepleak
