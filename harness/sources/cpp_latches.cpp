// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/cpp_latches.hpp"

#include <algorithm>
#include <set>
#include <string_view>

namespace stepleak {
namespace {

class Latches {
 public:
  Latches(const CppStep& step, const CppNames& names) : step_(step), names_(names) {}

  [[nodiscard]] bool shut(const TokenAt& at) {
    const auto& file = *at.file;
    const auto callable = file.callable_of(at.token);
    if (callable < 0) return false;
    for (auto i = file.block(callable).body.first; i < at.token; ++i) {
      if (!file.token(i).is("if") || file.callable_of(i) != callable) continue;
      const auto open = i + 1;
      const auto close = file.partner(open);
      const bool is_guarded = close > open && (at.token < close || file.extent_of(close + 1).contains(at.token));
      if (is_guarded && asks_for_what_never_is(file, {open + 1, close})) return true;
    }
    return false;
  }

 private:
  // One of the parts of "sealed_ && !is_open && kept.size() > most".
  [[nodiscard]] bool asks_for_what_never_is(const CppFile& file, TokenRange test) {
    auto first = test.first;
    for (auto i = test.first; i <= test.end; ++i) {
      if (i < test.end && file.token(i).is("||")) return false;
      if (i == test.end || file.token(i).is("&&")) {
        if (is_never(file, {first, i})) return true;
        first = i + 1;
      } else if (file.partner(i) > i) {
        i = file.partner(i);
      }
    }
    return false;
  }

  [[nodiscard]] bool is_never(const CppFile& file, TokenRange part) {
    const bool is_negated = file.token(part.first).is("!");
    if (is_negated) ++part.first;
    if (file.token(part.first).is("this")) part.first += 2;
    if (part.end != part.first + 1 || !file.token(part.first).is_name()) return false;
    const auto flag = names_.resolve({&file, part.first});
    const auto& home = flag.declared;
    if (home.file == nullptr || flag.type.find("bool") == std::string::npos || flag.is_parameter()) return false;
    const std::string_view opposite = is_negated ? "true" : "false";
    const auto& mark = home.file->token(home.token + 1);
    if (!(mark.is("=") || mark.is("{")) || !home.file->token(home.token + 2).is(opposite)) return false;
    const auto& uses = names_.project().uses(flag.name);
    return std::all_of(uses.begin(), uses.end(), [&](const TokenAt& use) {
      return use == home || !may_change(use, flag, opposite) || is_behind_the_steps(use);
    });
  }

  [[nodiscard]] bool may_change(const TokenAt& use, const CppContainer& flag, std::string_view same) const {
    const auto& file = *use.file;
    const auto& before = file.token(use.token - 1);
    const auto& next = file.token(use.token + 1);
    const bool is_assigned = next.is("=") || next.is("|=") || next.is("&=") || next.is("^=");
    const bool is_initialised = (before.is(":") || before.is(",")) && (next.is("(") || next.is("{"));
    const bool is_lent = before.is("&") || (before.is("(") && file.token(use.token - 2).is("exchange"));
    if (!is_assigned && !is_initialised && !is_lent) return false;
    const auto found = names_.resolve(use).declared;
    if (found.file != nullptr && found != flag.declared) return false;
    return is_lent || !file.token(use.token + 2).is(same);
  }

  // Whether what stands there runs behind the last step, or never.
  [[nodiscard]] bool is_behind_the_steps(const TokenAt& at) {
    const CppBlockAt callable{at.file, at.file->callable_of(at.token)};
    if (callable.index < 0) return false;
    if (const auto loop = step_.loops.find(callable); loop != step_.loops.end()) return at.token >= loop->second.end;
    const auto& block = callable.block();
    if (step_.reached.contains(callable) || block.type == CppBlock::Type::lambda) return false;
    if (callable.file->is_constructor(block) || block.name == "main") return false;
    if (!asked_.insert(callable).second) return true;
    const auto& uses = names_.project().uses(block.name);
    return std::all_of(uses.begin(), uses.end(), [&](const TokenAt& use) {
      const bool is_itself = use.file == callable.file && use.token == block.head;
      const bool is_declared = use.file->callable_of(use.token) < 0 && use.file->token(use.token + 1).is("(");
      return is_itself || is_declared || is_behind_the_steps(use);
    });
  }

  const CppStep& step_;
  const CppNames& names_;
  std::set<CppBlockAt> asked_;
};

}  // namespace

bool is_shut_off(const TokenAt& at, const CppStep& step, const CppNames& names) {
  return Latches(step, names).shut(at);
}

}  // namespace stepleak
