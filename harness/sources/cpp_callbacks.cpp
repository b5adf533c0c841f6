// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/cpp_callbacks.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "harness/sources/cpp_types.hpp"

namespace stepleak {
namespace {

constexpr std::array<std::string_view, 4> kFunctions{"function", "move_only_function", "copyable_function",
                                                     "function_ref"};
// Of a parameter, what does not tell its type from another one.
constexpr std::array<std::string_view, 4> kPassing{"const", "&", "struct", "class"};

// Parameters that are handed on to other functions, and names of names.
constexpr int kMostForwarded = 4;

using Words = std::vector<std::string>;

// "vector < Tensor >" of "const std::vector<at::Tensor>&".
Words words_of(const std::vector<Token>& tokens, TokenRange range) {
  Words words;
  for (auto i = range.first; i < range.end && !tokens[i].is("="); ++i) {
    const bool is_qualifier = i + 1 < range.end && tokens[i + 1].is("::");
    if (is_qualifier || tokens[i].is("::") || is_one_of(tokens[i].text, kPassing) || tokens[i].is("&&")) continue;
    words.emplace_back(tokens[i].text);
  }
  return words;
}

// The types of what a std::function is called with. None: the type is, and holds, no such thing.
std::optional<std::vector<Words>> signature_of(const std::string& type, const CppProject& project, int depth = 0) {
  const auto tokens = tokens_of(type);
  const auto found =
      std::find_if(tokens.begin(), tokens.end(), [](const Token& token) { return is_one_of(token.text, kFunctions); });
  if (found == tokens.end()) {
    for (const auto& token : tokens) {
      if (!token.is_name() || depth == kMostForwarded) continue;
      const auto meaning = meaning_of(token.text, project);
      if (meaning.empty()) continue;
      if (auto signature = signature_of(meaning, project, depth + 1)) return signature;
    }
    return std::nullopt;
  }
  std::vector<Words> signature;
  auto at = static_cast<std::size_t>(found - tokens.begin());
  while (at < tokens.size() && !tokens[at].is("(")) ++at;
  int depth_of_brackets = 0;
  auto first = at + 1;
  for (auto i = at + 1; i < tokens.size(); ++i) {
    const bool is_end = depth_of_brackets == 0 && (tokens[i].is(")") || tokens[i].is(","));
    if (is_end && i > first) signature.push_back(words_of(tokens, {first, i}));
    if (is_end && tokens[i].is(")")) return signature;
    if (is_end) first = i + 1;
    depth_of_brackets += tokens[i].is("<") || tokens[i].is("(") ? 1 : tokens[i].is(">") || tokens[i].is(")") ? -1 : 0;
  }
  return std::nullopt;
}

// Whether a function can be called with what a std::function is.
bool takes(const CppBlockAt& callable, const std::vector<Words>& signature) {
  const auto& file = *callable.file;
  auto parameters = file.parts(callable.block().parameters, true);
  if (parameters.size() == 1 && parameters.front().end <= parameters.front().first) parameters.clear();
  if (parameters.size() != signature.size()) return false;
  for (std::size_t i = 0; i < signature.size(); ++i) {
    auto words = words_of(file.tokens(), parameters[i]);
    if (!words.empty() && words.front() == "auto") continue;
    const auto& type = signature[i];
    const bool has_name = words.size() == type.size() + 1;
    if (has_name) words.pop_back();
    if (words != type) return false;
  }
  return true;
}

std::vector<CppBlockAt> held_by(const TokenAt& last, const CppNames& names, int depth);

// What the callers of a function give one of its parameters.
std::vector<CppBlockAt> given_by_callers(const TokenAt& parameter, const CppNames& names, int depth) {
  std::vector<CppBlockAt> given;
  const auto add = [&](const std::vector<CppBlockAt>& more) { given.insert(given.end(), more.begin(), more.end()); };
  for (const auto& one : names.given_to(parameter)) {
    const auto& file = *one.last.file;
    const auto& functions = names.project().functions(file.token(one.last.token).text);
    if (const auto lambda = file.lambda_at(one.last.token); lambda >= 0) {
      given.push_back({&file, lambda});
    } else {
      add(functions.empty() ? held_by(one.last, names, depth + 1) : functions);
    }
  }
  return given;
}

std::vector<CppBlockAt> held_by(const TokenAt& last, const CppNames& names, int depth) {
  if (depth == kMostForwarded) return {};
  const bool is_variable = last.file->token(last.token).is_name();
  auto container = is_variable ? names.resolve(last) : names.referent_of(last);
  if (container.declared.file == nullptr) return {};
  if (is_variable) {
    const auto& home = *container.declared.file;
    const auto source = CppNames::source_of(container.declared);
    const bool has_source = source.end > source.first;
    if (const auto lambda = has_source ? home.lambda_at(source.first) : -1; lambda >= 0)
      return {CppBlockAt{&home, lambda}};
    if (container.is_parameter()) {
      if (auto given = given_by_callers(container.declared, names, depth); !given.empty()) return given;
    }
    // "for (auto callback : callbacks_)"
    if (has_source && !signature_of(container.type, names.project())) {
      container = names.referent_of({&home, source.end - 1});
    }
  }
  const auto signature = signature_of(container.type, names.project());
  if (!signature.has_value()) return {};
  std::vector<CppBlockAt> held;
  for (const auto& callback : names.project().callbacks()) {
    if (takes(callback, *signature)) held.push_back(callback);
  }
  return held;
}

}  // namespace

std::vector<CppBlockAt> called_back(const TokenAt& last, const CppNames& names) { return held_by(last, names, 0); }

}  // namespace stepleak
