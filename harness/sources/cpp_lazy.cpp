// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/cpp_lazy.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "harness/sources/tokens.hpp"

namespace stepleak {
namespace {

constexpr std::array<std::string_view, 2> kPresent{"defined", "has_value"};
constexpr std::array<std::string_view, 3> kTakingAway{"move", "exchange", "swap"};

// What a test asks for that is to have nothing: "!mean_.defined()", "!cache_", "cache_ == nullptr". The end of the test
// where it asks for anything else.
std::size_t asked_for_nothing(const CppFile& file, TokenRange test) {
  auto name = test.first;
  const bool is_negated = file.token(name).is("!");
  if (is_negated) ++name;
  if (file.token(name).is("this")) name += 2;
  if (!file.token(name).is_name()) return test.end;
  const auto after = name + 1;
  const bool is_asked =
      file.token(after).is(".") && is_one_of(file.token(after + 1).text, kPresent) && after + 4 == test.end;
  const bool is_null = file.token(after).is("==") && file.token(after + 1).is("nullptr") && after + 2 == test.end;
  return (is_negated ? is_asked || after == test.end : is_null) ? name : test.end;
}

// "mean_.reset()", "mean_ = {}", "mean_ = nullptr", "mean_ = torch::Tensor()", "std::move(mean_)".
bool is_taken_away(const TokenAt& use) {
  const auto& file = *use.file;
  const auto& next = file.token(use.token + 1);
  if (next.is(".")) return file.token(use.token + 2).is("reset");
  if (file.token(use.token - 1).is("(")) return is_one_of(file.token(use.token - 2).text, kTakingAway);
  if (!next.is("=")) return false;
  auto end = use.token + 2;
  while (end < file.tokens().size() && !file.token(end).is(";")) ++end;
  const auto& last = file.token(end - 1);
  const auto& before = file.token(end - 2);
  const bool is_empty = (last.is("}") && before.is("{")) ||
                        (last.is(")") && before.is("(") && end < use.token + 8 && file.token(end - 3).is("Tensor"));
  return last.is("nullptr") || last.is("nullopt") || is_empty;
}

}  // namespace

bool is_of_what_is_missing(const TokenAt& test, const CppNames& names) {
  const auto& file = *test.file;
  const auto close = file.partner(test.token);
  const auto guarded = file.extent_of(close + 1);
  const auto asked = asked_for_nothing(file, {test.token + 1, close});
  if (asked == close) return false;
  const auto meant = names.resolve({&file, asked}).declared;
  const auto& uses = names.project().uses(file.token(asked).text);
  const auto is_it = [&](const TokenAt& use) { return names.resolve(use).declared == meant; };
  const bool is_made = std::any_of(uses.begin(), uses.end(), [&](const TokenAt& use) {
    return use.file == &file && guarded.contains(use.token) && file.token(use.token + 1).is("=") && is_it(use);
  });
  return is_made &&
         std::none_of(uses.begin(), uses.end(), [&](const TokenAt& use) { return is_taken_away(use) && is_it(use); });
}

bool is_made_lazily(const TokenAt& name, const CppNames& names) {
  const auto& file = *name.file;
  const auto callable = file.callable_of(name.token);
  if (callable < 0) return false;
  for (auto i = file.block(callable).body.first; i < name.token; ++i) {
    if (!file.token(i).is("if") || file.callable_of(i) != callable || !file.token(i + 1).is("(")) continue;
    const bool is_guarded = file.extent_of(file.partner(i + 1) + 1).contains(name.token);
    if (is_guarded && is_of_what_is_missing({&file, i + 1}, names)) return true;
  }
  return false;
}

}  // namespace stepleak
