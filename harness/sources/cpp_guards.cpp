// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/cpp_guards.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "harness/sources/cpp_counts.hpp"
#include "harness/sources/cpp_lazy.hpp"
#include "harness/sources/cpp_numbers.hpp"
#include "harness/sources/cpp_uses.hpp"
#include "harness/sources/value_flow.hpp"

namespace stepleak {
namespace {

constexpr std::array<std::string_view, 4> kOrders{"<", "<=", ">", ">="};
constexpr std::array<std::string_view, 11> kAskedFor{"find",    "find_if",     "any_of",   "all_of",
                                                     "none_of", "count",       "contains", "insert",
                                                     "emplace", "try_emplace", "exchange"};
constexpr std::array<std::string_view, 4> kExits{"return", "continue", "break", "throw"};
constexpr std::array<std::string_view, 2> kReturns{"return", "throw"};  // out of all blocks of a function
constexpr std::array<std::string_view, 9> kChanges{"=", "+=", "-=", "*=", "/=", "++", "--", "|=", "&="};
constexpr std::array<std::string_view, 5> kStores{"store", "exchange", "test_and_set", "fetch_add", "fetch_sub"};

// Functions that are asked in functions that are asked in a test.
constexpr int kMostAnswers = 2;
// Calls of calls, from what puts something in to the step.
constexpr int kMostCallers = 6;

class Guards {
 public:
  Guards(const CppStep& step, const CppNames& names) : step_(step), names_(names) {}

  std::optional<TokenAt> around(const TokenAt& statement, int depth = 0) {
    const auto& file = *statement.file;
    const auto callable = file.callable_of(statement.token);
    for (const auto open : tests_of(file, statement.token, callable)) {
      const TokenRange test{open + 1, file.partner(open)};
      const bool is_under = file.extent_of(test.end + 1).contains(statement.token);
      if (!is_under && is_of_what_is_missing({&file, open}, names_)) continue;
      if (may_end(file, test) && !stays_open(file, open, statement.token)) return TokenAt{&file, open};
    }
    if (const auto test = test_of_statement(file, statement.token); may_end(file, test)) {
      return TokenAt{&file, test.first};
    }
    if (callable < 0 || depth == kMostCallers) return std::nullopt;
    const CppBlockAt function{&file, callable};
    if (step_.roots.contains(function)) return std::nullopt;
    if (!asked_.insert(function).second) return std::nullopt;
    if (const auto calls = step_.called_at.find(function); calls != step_.called_at.end()) {
      for (const auto& call : calls->second) {
        if (auto found = choice_of(call); found.has_value()) return found;
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
      const bool is_switch = file.token(i).is("switch");
      if ((!file.token(i).is("if") && !is_switch) || file.callable_of(i) != callable) continue;
      const auto open = file.token(i + 1).is("constexpr") ? i + 2 : i + 1;
      const auto close = file.partner(open);
      if (close <= open) continue;
      const auto guarded = file.extent_of(close + 1);
      auto otherwise = TokenRange{guarded.end, guarded.end};
      if (file.token(guarded.end).is("else")) otherwise = file.extent_of(guarded.end + 1);
      const bool is_inside = guarded.contains(token) || otherwise.contains(token) ||
                             (open < token && token < close);  // "if (a && kept.insert(x))"
      const bool leaves_block = is_before(file, i, token) && has_any(file, guarded, kExits);
      const bool leaves = !is_switch && (leaves_block || has_any(file, guarded, kReturns));
      if (is_inside || leaves) found.push_back(open);
    }
    return found;
  }

  // "full_ ? skip(x) : keep(x)", "full_ || keep(x)": what is asked in the statement before a token. Empty: nothing.
  [[nodiscard]] static TokenRange test_of_statement(const CppFile& file, std::size_t token) {
    std::size_t end = token;
    auto first = token;
    for (; first > 0; --first) {
      const auto& before = file.token(first - 1);
      if (before.is(";") || before.is("{") || before.is("}")) break;
      if (before.is("?") || before.is("||") || before.is("&&")) end = first - 1;
    }
    return end == token ? TokenRange{token, token} : TokenRange{first, end};
  }

  // What is called by a variable: one that gets another function some day, that is chosen by what changes, or goes
  // through a list from which functions are taken: "do_(x)", "table_[phase_](x)", "for (auto& hook : hooks_) hook(x)".
  [[nodiscard]] std::optional<TokenAt> choice_of(const TokenAt& call) const {
    const auto& file = *call.file;
    if (file.token(call.token).is("]")) {
      for (auto i = file.partner(call.token) + 1; i < call.token; ++i) {
        if (file.token(i).is_name() && is_changed({&file, i})) return TokenAt{&file, i};
      }
      return std::nullopt;
    }
    if (is_changed(call)) return call;
    const auto callable = file.callable_of(call.token);
    const auto name = file.token(call.token).text;
    for (auto i = callable < 0 ? call.token : file.block(callable).body.first; i < call.token; ++i) {
      const auto end = file.token(i).is("for") ? file.partner(i + 1) : i;
      for (auto j = i + 2; j < end; ++j) {
        const bool is_rest = file.token(j - 1).is(":") && file.token(j - 2).is(name);
        if (is_rest && is_taken_from({&file, j})) return TokenAt{&file, j};
      }
    }
    return std::nullopt;
  }

  // Whether a block around one token is around the other one, too: what leaves it passes that by.
  [[nodiscard]] static bool is_before(const CppFile& file, std::size_t one, std::size_t token) {
    const auto block = file.block_of(one);
    return block < 0 || file.block(block).body.contains(token);
  }

  template <std::size_t kCount>
  [[nodiscard]] static bool has_any(const CppFile& file, TokenRange range,
                                    const std::array<std::string_view, kCount>& words) {
    for (auto i = range.first; i < range.end; ++i) {
      if (is_one_of(file.token(i).text, words)) return true;
    }
    return false;
  }

  // "if (++step > 50) { ... }", and "if (step < 50) return;" before it: true for good once a counter is there.
  [[nodiscard]] bool stays_open(const CppFile& file, std::size_t open, std::size_t token) const {
    const TokenRange test{open + 1, file.partner(open)};
    const auto guarded = file.extent_of(test.end + 1);
    const bool is_inside = guarded.contains(token);
    const bool is_exit = guarded.end <= token && has_any(file, guarded, kExits) && !file.token(guarded.end).is("else");
    if (!is_inside && !is_exit) return false;
    const auto last = test.end - 1;
    const auto& order = file.token(last - 1);
    const bool is_right = is_inside ? order.is(">") || order.is(">=") : order.is("<") || order.is("<=");
    const bool is_fixed = file.token(last).type == Token::Type::number || value_of(names_, {&file, last}) >= 0;
    return is_right && is_fixed && is_counted(file, {test.first, last - 1}, step_, names_);
  }

  // `depth`: of functions that are asked in functions.
  [[nodiscard]] bool may_end(const CppFile& file, TokenRange test, int depth = 0) const {
    bool may_end = false;
    for (auto i = test.first; i < test.end; ++i) {
      const auto& token = file.token(i);
      if (token.is("%")) return false;
      const bool is_template = closes_template(file, i, test.end) || is_template_end(file, i, test.first);
      may_end = may_end || (is_one_of(token.text, kOrders) && !is_template);
      may_end = may_end || (token.is_name() && (is_one_of(token.text, kAskedFor) || is_changed({&file, i})));
      may_end = may_end || (token.is_name() && (is_used_up({&file, i}) || may_answer_end({&file, i}, depth)));
      may_end = may_end || (token.is_name() && is_found_before({&file, i}));
    }
    return may_end;
  }

  // "if (is_filling())": by what the user's function of that name returns.
  [[nodiscard]] bool may_answer_end(const TokenAt& name, int depth) const {
    const auto& file = *name.file;
    if (!file.token(name.token + 1).is("(") || depth == kMostAnswers) return false;
    for (const auto& use : names_.project().uses(file.token(name.token).text)) {
      const auto& home = *use.file;
      const auto& blocks = home.blocks();
      const auto found = std::find_if(blocks.begin(), blocks.end(), [&](const CppBlock& block) {
        return block.type == CppBlock::Type::function && block.head == use.token;
      });
      if (found == blocks.end()) continue;
      const CppBlockAt function{&home, static_cast<int>(found - blocks.begin())};
      if (!names_.may_call(name, function)) continue;
      for (auto i = found->body.first; i < found->body.end; ++i) {
        if (!home.token(i).is("return")) continue;
        auto end = i + 1;
        while (end < found->body.end && !home.token(end).is(";")) ++end;
        if (may_end(home, {i + 1, end}, depth + 1)) return true;
      }
    }
    return false;
  }

  // "const auto found = std::find_if(...)", "if (found == end)".
  [[nodiscard]] bool is_found_before(const TokenAt& name) const {
    const auto declared = names_.resolve(name).declared;
    if (declared.file != name.file || declared.token >= name.token) return false;
    const auto& file = *name.file;
    if (file.callable_of(declared.token) != file.callable_of(name.token)) return false;
    for (auto i = declared.token + 1; i < name.token && !file.token(i).is(";"); ++i) {
      if (file.token(i).is_name() && is_one_of(file.token(i).text, kAskedFor)) return true;
    }
    return false;
  }

  // "!pool_.empty()" of what steps only take from.
  [[nodiscard]] bool is_used_up(const TokenAt& name) const {
    const auto& file = *name.file;
    const bool is_asked = file.token(name.token + 1).is(".") &&
                          (file.token(name.token + 2).is("empty") || file.token(name.token + 2).is("size"));
    return is_asked && is_taken_from(name);
  }

  // Whether steps take something out of a container, and put nothing in.
  [[nodiscard]] bool is_taken_from(const TokenAt& name) const {
    const auto meant = names_.resolve(name).declared;
    bool is_taken = false;
    for (const auto& use : names_.project().uses(name.file->token(name.token).text)) {
      const auto& file = *use.file;
      const auto& method = file.token(use.token + 2);
      if (!file.token(use.token + 1).is(".") || !step_.contains(use) || names_.resolve(use).declared != meant) continue;
      if (is_filling(method.text)) return false;
      is_taken = is_taken || is_taking_out(method.text) || is_emptying(method.text);
    }
    return is_taken;
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
      const auto& after = file.token(use.token + 1);
      const bool is_stored = after.is(".") && is_one_of(file.token(use.token + 2).text, kStores);
      const bool is_change = is_one_of(after.text, kChanges) || before.is("++") || before.is("--") || is_stored;
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
