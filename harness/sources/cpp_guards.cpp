// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/cpp_guards.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "harness/sources/cpp_counts.hpp"
#include "harness/sources/cpp_numbers.hpp"

namespace stepleak {
namespace {

constexpr std::array<std::string_view, 4> kOrders{"<", "<=", ">", ">="};
constexpr std::array<std::string_view, 7> kAskedFor{"find",    "count",       "contains", "insert",
                                                    "emplace", "try_emplace", "exchange"};
constexpr std::array<std::string_view, 4> kExits{"return", "continue", "break", "throw"};
constexpr std::array<std::string_view, 9> kChanges{"=", "+=", "-=", "*=", "/=", "++", "--", "|=", "&="};

// Calls of calls, from what puts something in to the step.
constexpr int kMostCallers = 6;

class Guards {
 public:
  Guards(const CppStep& step, const CppNames& names) : step_(step), names_(names) {}

  std::optional<TokenAt> around(const TokenAt& statement, int depth = 0) {
    const auto& file = *statement.file;
    const auto callable = file.callable_of(statement.token);
    for (const auto open : tests_of(file, statement.token, callable)) {
      if (may_end(file, open) && !stays_open(file, open, statement.token)) return TokenAt{&file, open};
    }
    if (callable < 0 || depth == kMostCallers) return std::nullopt;
    const CppBlockAt function{&file, callable};
    if (step_.roots.contains(function)) return std::nullopt;
    if (!asked_.insert(function).second) return std::nullopt;
    if (const auto calls = step_.called_at.find(function); calls != step_.called_at.end()) {
      for (const auto& call : calls->second) {
        if (auto found = around(call, depth + 1); found.has_value()) return found;
      }
    }
    if (file.block(callable).type == CppBlock::Type::lambda) return std::nullopt;
    for (const auto& use : names_.project().uses(file.block(callable).name)) {
      const auto caller = use.file->callable_of(use.token);
      const bool is_call = use.file->token(use.token + 1).is("(") && caller >= 0 && caller != callable;
      if (!is_call || !step_.contains(use) || !names_.may_call(use, function)) continue;
      if (auto found = around(use, depth + 1); found.has_value()) return found;
    }
    return std::nullopt;
  }

 private:
  // Opening parentheses of the tests in a function that decide whether a token of it is come by.
  [[nodiscard]] static std::vector<std::size_t> tests_of(const CppFile& file, std::size_t token, int callable) {
    std::vector<std::size_t> found;
    const auto first = callable < 0 ? 0 : file.block(callable).body.first;
    for (auto i = first; i < token; ++i) {
      if (!file.token(i).is("if") || file.callable_of(i) != callable) continue;
      const auto open = file.token(i + 1).is("constexpr") ? i + 2 : i + 1;
      const auto close = file.partner(open);
      if (close <= open) continue;
      const auto guarded = file.extent_of(close + 1);
      auto otherwise = TokenRange{guarded.end, guarded.end};
      if (file.token(guarded.end).is("else")) otherwise = file.extent_of(guarded.end + 1);
      const bool is_inside = guarded.contains(token) || otherwise.contains(token) ||
                             (open < token && token < close);  // "if (a && kept.insert(x))"
      if (is_inside || (is_before(file, i, token) && has_exit(file, guarded))) found.push_back(open);
    }
    return found;
  }

  // Whether a block around one token is around the other one, too: what leaves it passes that by.
  [[nodiscard]] static bool is_before(const CppFile& file, std::size_t one, std::size_t token) {
    const auto block = file.block_of(one);
    return block < 0 || file.block(block).body.contains(token);
  }

  [[nodiscard]] static bool has_exit(const CppFile& file, TokenRange range) {
    for (auto i = range.first; i < range.end; ++i) {
      if (is_one_of(file.token(i).text, kExits)) return true;
    }
    return false;
  }

  // "if (++step > 50) { ... }", and "if (step < 50) return;" before it: true for good once a counter is there.
  [[nodiscard]] bool stays_open(const CppFile& file, std::size_t open, std::size_t token) const {
    const TokenRange test{open + 1, file.partner(open)};
    const auto guarded = file.extent_of(test.end + 1);
    const bool is_inside = guarded.contains(token);
    const bool is_exit = guarded.end <= token && has_exit(file, guarded) && !file.token(guarded.end).is("else");
    if (!is_inside && !is_exit) return false;
    const auto last = test.end - 1;
    const auto& order = file.token(last - 1);
    const bool is_right = is_inside ? order.is(">") || order.is(">=") : order.is("<") || order.is("<=");
    const bool is_fixed = file.token(last).type == Token::Type::number || value_of(names_, {&file, last}) >= 0;
    return is_right && is_fixed && is_counted(file, {test.first, last - 1}, step_, names_);
  }

  [[nodiscard]] bool may_end(const CppFile& file, std::size_t open) const {
    const TokenRange test{open + 1, file.partner(open)};
    bool may_end = false;
    for (auto i = test.first; i < test.end; ++i) {
      const auto& token = file.token(i);
      if (token.is("%")) return false;
      const bool is_template = closes_template(file, i, test.end) || is_template_end(file, i, test.first);
      may_end = may_end || (is_one_of(token.text, kOrders) && !is_template);
      may_end = may_end || (token.is_name() && (is_one_of(token.text, kAskedFor) || is_changed({&file, i})));
    }
    return may_end;
  }

  // "item<float>()": a name, types, and what is called.
  [[nodiscard]] static bool closes_template(const CppFile& file, std::size_t open, std::size_t end) {
    if (!file.token(open).is("<")) return false;
    for (auto i = open + 1; i < end; ++i) {
      const auto& token = file.token(i);
      if (token.is(">")) return file.token(i + 1).is("(") || file.token(i + 1).is("::") || file.token(i + 1).is("{");
      if (!token.is_name() && !token.is("::") && !token.is(",") && !token.is("*")) return false;
    }
    return false;
  }

  [[nodiscard]] static bool is_template_end(const CppFile& file, std::size_t close, std::size_t first) {
    if (!file.token(close).is(">")) return false;
    for (auto i = close; i > first; --i) {
      if (file.token(i - 1).is("<")) return closes_template(file, i - 1, close + 1);
    }
    return false;
  }

  // Whether a step gives a variable another value.
  [[nodiscard]] bool is_changed(const TokenAt& name) const {
    const auto meant = names_.resolve(name).declared;
    const auto& uses = names_.project().uses(name.file->token(name.token).text);
    return std::any_of(uses.begin(), uses.end(), [&](const TokenAt& use) {
      const auto& file = *use.file;
      const auto& before = file.token(use.token - 1);
      const bool is_change = is_one_of(file.token(use.token + 1).text, kChanges) || before.is("++") || before.is("--");
      if (!is_change || file.is_declaration(use.token) || !step_.contains(use)) return false;
      const auto found = names_.resolve(use).declared;
      return meant.file == nullptr || found.file == nullptr || found == meant;
    });
  }

  const CppStep& step_;
  const CppNames& names_;
  std::set<CppBlockAt> asked_;
};

}  // namespace

std::optional<TokenAt> guard_of(const TokenAt& statement, const CppStep& step, const CppNames& names) {
  return Guards(step, names).around(statement);
}

}  // namespace stepleak
