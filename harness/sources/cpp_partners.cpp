// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/cpp_partners.hpp"

#include <array>

#include "harness/sources/cpp_types.hpp"
#include "harness/sources/cpp_values.hpp"

namespace stepleak {
namespace {

// What takes one item out, and no more.
constexpr std::array<std::string_view, 3> kPopping{"pop_back", "pop_front", "pop"};
// What may come by a statement again before the function is left.
constexpr std::array<std::string_view, 4> kRepeating{"for", "while", "do", "goto"};

// The only place that names a function, where that calls it. A function that has others may be run more than once.
std::optional<TokenAt> only_call_of(const CppBlockAt& function, const CppNames& names) {
  const auto& block = function.block();
  if (block.type != CppBlock::Type::function) return std::nullopt;
  std::optional<TokenAt> only;
  for (const auto& use : names.project().uses(block.name)) {
    if (use.file->callable_of(use.token) < 0) continue;  // where it is declared or defined
    if (only.has_value() || !use.file->token(use.token + 1).is("(") || !names.may_call(use, function)) {
      return std::nullopt;
    }
    only = use;
  }
  return only;
}

bool has_loop(const CppBlockAt& callable) {
  const auto& body = callable.block().body;
  for (auto i = body.first; i < body.end; ++i) {
    if (is_one_of(callable.file->token(i).text, kRepeating)) return true;
  }
  return false;
}

// Whether a function comes by one of its statements, by what that calls or assigns, on each way to a later token.
bool is_always_before(const TokenAt& statement, const TokenAt& later) {
  const auto& file = *later.file;
  if (statement.file != &file || statement.token > later.token) return false;
  const auto& before = file.token(begin_of_path(file, statement.token) - 1);
  const bool is_whole = before.is(";") || before.is("{") || before.is("}");
  const auto callable = file.callable_of(later.token);
  return is_whole && callable >= 0 && file.block_of(statement.token) == callable;
}

// Whether the head of an "if" holds where a map or a set has what it is asked for: "found != entries.end()",
// "entries.contains(key)".
bool asks_for_known(const CppFile& file, TokenRange head, const CppContainer& asked, const CppNames& names) {
  bool is_differing = false;
  bool is_compared = file.token(head.first).is("!");
  for (auto i = head.first; i < head.end; ++i) {
    if (file.token(i).is("&&") || file.token(i).is("||")) return false;
    is_differing = is_differing || file.token(i).is("!=");
    is_compared = is_compared || file.token(i).is("==");
  }
  for (auto i = head.first; !is_compared && i < head.end; ++i) {
    const auto& method = file.token(i + 2);
    const bool is_asking = is_differing ? method.is("end") : method.is("contains") || method.is("count");
    const bool is_it = file.token(i).is(asked.name) && file.token(i + 1).is(".");
    if (is_it && is_asking && names.resolve({&file, i}).declared == asked.declared) return true;
  }
  return false;
}

// Whether what stands under an "if" ends with the function.
bool always_leaves(const CppFile& file, TokenRange guarded) {
  const bool is_block = file.token(guarded.first).is("{");
  const auto body = is_block ? TokenRange{guarded.first + 1, guarded.end - 1} : guarded;
  const auto statements = file.statements(body);
  if (statements.empty()) return false;
  const auto last = statements.back().first;
  return file.token(last).is("return") && file.block_of(last) == file.block_of(body.first);
}

// Whether a function leaves before a token where a map or a set has the key already.
bool leaves_for_known(const TokenAt& token, const CppContainer& asked, const CppNames& names) {
  const auto& file = *token.file;
  const auto callable = file.callable_of(token.token);
  for (auto i = file.block(callable).body.first; i < token.token; ++i) {
    if (!file.token(i).is("if") || file.block_of(i) != callable || !file.token(i + 1).is("(")) continue;
    const TokenRange head{i + 2, file.partner(i + 1)};
    const auto guarded = file.extent_of(head.end + 1);
    if (guarded.end <= token.token && asks_for_known(file, head, asked, names) && always_leaves(file, guarded)) {
      return true;
    }
  }
  return false;
}

// Whether a container has got one more on each way to a token: a map or a set not by a key that it has.
bool has_gained(const CppContainer& container, const TokenAt& before, const CppNames& names) {
  const auto& file = *before.file;
  const auto callable = file.callable_of(before.token);
  for (auto i = file.block(callable).body.first; i < before.token; ++i) {
    const bool is_call = file.token(i + 1).is(".") && is_filling(file.token(i + 2).text);
    const bool is_index = file.token(i + 1).is("[") && file.token(file.partner(i + 1) + 1).is("=");
    if (!file.token(i).is(container.name) || !(is_call || is_index)) continue;
    if (names.resolve({&file, i}).declared != container.declared || !is_always_before({&file, i}, before)) continue;
    const bool has_keys = is_associative(container, names.project());
    if (has_keys ? leaves_for_known({&file, i}, container, names) : is_call) return true;
  }
  return false;
}

// Whether a token is run under an "if" that has a test in its head.
bool is_under(const TokenAt& test, const TokenAt& guarded) {
  const auto& file = *test.file;
  if (guarded.file != &file || test.token > guarded.token) return false;
  for (auto i = test.token; i > 0 && !file.token(i).is(";") && !file.token(i).is("{") && !file.token(i).is("}"); --i) {
    if (!file.token(i).is("if") || !file.token(i + 1).is("(")) continue;
    return file.extent_of(file.partner(i + 1) + 1).contains(guarded.token);
  }
  return false;
}

// Of the others in the block around a removal that lose one there, too, the test of their length that a token is under.
std::optional<LengthTest> test_of_others(const CppFill& fill, const TokenAt& removal, const TokenAt& guarded,
                                         const CppStep& step, const CppNames& names) {
  const auto& file = *removal.file;
  const auto& body = file.block(file.block_of(removal.token)).body;
  for (auto i = body.first; i < body.end; ++i) {
    const auto& method = file.token(i + 2);
    const bool is_losing = file.token(i + 1).is(".") && (method.is("erase") || is_one_of(method.text, kPopping));
    if (!file.token(i).is_name() || !is_losing) continue;
    const auto other = names.referent({&file, i});
    if (other.declared.file == nullptr || other.declared == fill.container.declared) continue;
    const auto test = uses_of(other, CppFill::Type::entry, step, names).test;
    const bool is_it = test.has_value() && test->bound > 0 && is_under(test->at, guarded);
    if (is_it && has_gained(other, guarded, names)) return test;
  }
  return std::nullopt;
}

}  // namespace

std::optional<LengthTest> test_of_partner(const CppFill& fill, const CppUses& uses, const CppStep& step,
                                          const CppNames& names) {
  const auto& project = names.project();
  const bool are_all_known = project.is_whole() && !uses.escapes && !project.is_in_macro(fill.container.name);
  if (fill.type != CppFill::Type::entry || uses.removals.size() != 1 || !are_all_known) return std::nullopt;
  const auto& removal = uses.removals.front().at;
  const CppBlockAt remover{removal.file, removal.file->callable_of(removal.token)};
  if (remover.index < 0 || !is_one_of(removal.file->token(removal.token).text, kPopping)) return std::nullopt;
  const CppBlockAt filler{fill.at.file, fill.at.file->callable_of(fill.at.token)};
  const auto guarded = filler == remover ? removal : only_call_of(remover, names).value_or(TokenAt{});
  if (guarded.file == nullptr || !is_always_before(fill.at, guarded)) return std::nullopt;
  if (has_loop(filler) || has_loop(remover)) return std::nullopt;
  return test_of_others(fill, removal, guarded, step, names);
}

}  // namespace stepleak
