// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/cpp_counts.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace stepleak {
namespace {

constexpr std::array<std::string_view, 10> kSettings{"=", "-=", "*=", "/=", "%=", "--", "|=", "&=", "^=", ">>="};
// What gives each number another value.
constexpr std::array<std::string_view, 2> kNaming{"to_string", "static_cast"};

// Variables that are made of others, and arguments of arguments.
constexpr int kMostSources = 4;

class CountReader {
 public:
  CountReader(const CppStep& step, const CppNames& names) : step_(step), names_(names) {}

  [[nodiscard]] bool is_counted(const CppFile& file, TokenRange range, int depth = 0) const {
    if (depth > kMostSources || range.first >= range.end) return false;
    if (const auto parts = terms_of(file, range); parts.size() > 1) {
      // What is added must be the same each time.
      const auto is_count = [&](const TokenRange& part) { return is_counted(file, part, depth + 1); };
      return std::any_of(parts.begin(), parts.end(), is_count) &&
             std::all_of(parts.begin(), parts.end(),
                         [&](const TokenRange& part) { return is_literal(file, part) || is_count(part); });
    }
    if (file.token(range.first).is("++")) ++range.first;
    if (file.token(range.end - 1).is("++")) --range.end;
    const auto last = range.end - 1;
    if (file.token(last).is(")") && file.partner(last) > range.first) {
      const auto open = file.partner(last);
      const bool is_name_of = std::any_of(kNaming.begin(), kNaming.end(), [&](std::string_view word) {
        return std::any_of(file.tokens().begin() + static_cast<std::ptrdiff_t>(range.first),
                           file.tokens().begin() + static_cast<std::ptrdiff_t>(open),
                           [&](const Token& token) { return token.is(word); });
      });
      return is_name_of && is_counted(file, {open + 1, last}, depth + 1);
    }
    return is_path(file, range) && is_raised({&file, last}, depth);
  }

 private:
  [[nodiscard]] static bool is_literal(const CppFile& file, TokenRange range) {
    const auto type = file.token(range.first).type;
    return range.end == range.first + 1 && (type == Token::Type::text || type == Token::Type::number);
  }

  // "step", "this->step" and "state.step".
  [[nodiscard]] static bool is_path(const CppFile& file, TokenRange range) {
    for (auto i = range.first; i < range.end; ++i) {
      const auto& token = file.token(i);
      const bool is_name = (i - range.first) % 2 == 0;
      if (is_name ? !token.is_name() : !token.is(".") && !token.is("->")) return false;
    }
    return (range.end - range.first) % 2 == 1;
  }

  // What stands between "+" of the expression itself.
  [[nodiscard]] static std::vector<TokenRange> terms_of(const CppFile& file, TokenRange range) {
    std::vector<TokenRange> terms;
    auto first = range.first;
    for (auto i = range.first; i < range.end; ++i) {
      if (file.token(i).is("+")) {
        terms.push_back({first, i});
        first = i + 1;
      }
      i = std::max(i, file.partner(i));
    }
    terms.push_back({first, range.end});
    return terms;
  }

  [[nodiscard]] bool is_raised(const TokenAt& name, int depth) const {
    const auto variable = names_.resolve(name);
    if (variable.declared.file == nullptr) return false;
    const auto& home = *variable.declared.file;
    if (const auto callable = home.callable_of(variable.declared.token); variable.is_parameter()) {
      return is_raised_argument(variable.declared, depth);
    } else if (callable >= 0 && step_.contains(variable.declared) && !step_.is_in(home, callable) &&
               variable.type.find("static") == std::string::npos) {
      // One of the step's own begins anew, and is what it is made of; one of the function around it does not, whoever
      // else has that one's name.
      return !is_set_or_raised(variable).first && is_counted(home, CppNames::source_of(variable.declared), depth + 1);
    }
    const auto [is_set, is_raised] = is_set_or_raised(variable);
    return is_raised && !is_set;
  }

  // What the steps do with a variable: whether they set it, and whether they raise it.
  [[nodiscard]] std::pair<bool, bool> is_set_or_raised(const CppContainer& variable) const {
    bool is_set = false;
    bool is_raised = false;
    for (const auto& use : names_.project().uses(variable.name)) {
      if (use == variable.declared || !step_.contains(use)) continue;
      const auto& file = *use.file;
      const auto& next = file.token(use.token + 1);
      const auto& before = file.token(use.token - 1);
      const auto& farther = file.token(use.token - 2);
      const bool is_address = before.is("&") && (farther.is("(") || farther.is(",") || farther.is("="));
      const bool is_lowered = before.is("--") || (before.is("(") && farther.is("exchange"));
      const bool is_more = next.is("++") || before.is("++") || next.is("+=");
      if (!is_more && !is_address && !is_lowered && !is_one_of(next.text, kSettings)) continue;
      const auto meant = names_.resolve(use).declared;
      if (meant.file != nullptr && meant != variable.declared) continue;
      // A function's own variable has its name in no other file.
      const bool is_elsewhere = variable.scope == CppContainer::Scope::local && use.file != variable.declared.file;
      if (is_elsewhere) continue;
      // One of a loop begins again each time.
      is_raised = is_raised || (is_more && !is_in_loop_head(file, use.token));
      is_set = is_set || !is_more || (next.is("+=") && file.token(use.token + 2).is("-"));
    }
    return {is_set, is_raised};
  }

  [[nodiscard]] static bool is_in_loop_head(const CppFile& file, std::size_t token) {
    for (auto i = token; i > 0; --i) {
      if (file.token(i).is("{") || file.token(i).is("}")) return false;
      if (file.token(i).is("(") && file.partner(i) > token && file.token(i - 1).is("for")) return true;
    }
    return false;
  }

  // Whether all calls in a step give a parameter such a value.
  [[nodiscard]] bool is_raised_argument(const TokenAt& parameter, int depth) const {
    auto given = names_.given_to(parameter);
    std::erase_if(given, [&](const CppNames::Given& one) { return !step_.contains(one.last); });
    return !given.empty() && std::all_of(given.begin(), given.end(), [&](const CppNames::Given& one) {
      return is_counted(*one.last.file, argument_of(one.last), depth + 1);
    });
  }

  // From a comma or a parenthesis on.
  [[nodiscard]] static TokenRange argument_of(const TokenAt& last) {
    const auto& file = *last.file;
    auto first = last.token + 1;
    while (first > 0 && !file.token(first - 1).is(",") && !file.token(first - 1).is("(")) {
      first = std::min(first - 1, file.partner(first - 1));
    }
    return {first, last.token + 1};
  }

  const CppStep& step_;
  const CppNames& names_;
};

}  // namespace

bool is_counted(const CppFile& file, TokenRange expression, const CppStep& step, const CppNames& names) {
  return CountReader(step, names).is_counted(file, expression);
}

}  // namespace stepleak
