// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/cpp_numbers.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <string>

namespace stepleak {
namespace {

constexpr std::int64_t kNoNumber = -1;

std::int64_t number_of(std::string_view text) {
  std::string digits;
  std::copy_if(text.begin(), text.end(), std::back_inserter(digits), [](char digit) { return digit != '\''; });
  std::int64_t value = kNoNumber;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const std::string_view suffix(end, static_cast<std::size_t>(digits.data() + digits.size() - end));
  const bool is_whole = suffix.find_first_not_of("uUlLzZ") == std::string_view::npos;
  return error == std::errc() && is_whole ? value : kNoNumber;
}

// Whether what stands there is all of an argument or a value.
bool is_alone(const TokenAt& at) {
  const auto& after = at.file->token(at.token + 1);
  return after.is(";") || after.is(",") || after.is("}") || after.is(")");
}

std::int64_t literal_at(const TokenAt& at) {
  const auto& token = at.file->token(at.token);
  return token.type == Token::Type::number && is_alone(at) ? number_of(token.text) : kNoNumber;
}

/// One number for all, or none.
class OnlyNumber {
 public:
  /// False where it is another one than before, or none.
  bool add(std::int64_t number) {
    if (number < 0 || (only_ >= 0 && only_ != number)) return false;
    only_ = number;
    return true;
  }
  [[nodiscard]] std::int64_t get() const { return only_; }

 private:
  std::int64_t only_ = kNoNumber;
};

// What objects of a class get as an argument: "Ring ring(300)", "Ring{300}", "make_shared<Ring>(300)".
std::int64_t value_made_with(const CppProject& project, std::string_view type, std::size_t index) {
  OnlyNumber only;
  for (const auto& [file, i] : project.uses(type)) {
    auto open = i + 1;
    if (file->token(open).is_name() || file->token(open).is(">")) ++open;
    const bool is_made = file->token(open).is("(") || file->token(open).is("{");
    const bool is_own = open == i + 1 && file->class_around(i) == type;  // the constructor itself
    const bool is_defined = file->token(i - 1).is("class") || file->token(i - 1).is("struct");
    if (!is_made || is_own || is_defined) continue;
    const auto arguments = file->parts({open + 1, file->partner(open)}, false);
    if (index >= arguments.size() || !only.add(literal_at({file, arguments[index].first}))) return kNoNumber;
  }
  return only.get();
}

// Of a parameter of a constructor: "explicit Ring(std::size_t most) : most_(most)".
std::int64_t value_handed_on(const CppProject& project, const TokenAt& parameter) {
  const auto& file = *parameter.file;
  for (const auto& block : file.blocks()) {
    const bool is_around = block.type == CppBlock::Type::function && block.parameters.end < parameter.token &&
                           parameter.token < block.body.first;
    if (!is_around || (block.owner.empty() && file.class_around(block.head) != block.name)) continue;
    const auto parameters = file.parts(block.parameters, true);
    for (std::size_t index = 0; index < parameters.size(); ++index) {
      const auto& [first, end] = parameters[index];
      if (first < end && file.token(end - 1).text == file.token(parameter.token).text) {
        return value_made_with(project, block.name, index);
      }
    }
  }
  return kNoNumber;
}

// What a use of a name gives it: nothing where it only asks for it; -1 where that is no number.
std::optional<std::int64_t> given_by(const CppProject& project, const TokenAt& use) {
  const auto& file = *use.file;
  const auto& mark = file.token(use.token + 1);
  const auto& before = file.token(use.token - 1);
  const bool is_changed =
      mark.is("++") || mark.is("--") || mark.is("+=") || mark.is("-=") || before.is("++") || before.is("--");
  if (is_changed) return kNoNumber;
  if (!mark.is("=") && !mark.is("{") && !mark.is("(")) return std::nullopt;
  const TokenAt value{&file, use.token + 2};
  if (const auto literal = literal_at(value); literal >= 0) return literal;
  const bool is_initialiser = file.callable_of(use.token) < 0 && (before.is(":") || before.is(","));
  if (is_initialiser && file.token(value.token).is_name() && is_alone(value)) return value_handed_on(project, value);
  if (mark.is("(")) return std::nullopt;  // a call
  return kNoNumber;
}

}  // namespace

std::int64_t value_of(const CppNames& names, const TokenAt& at) {
  const auto& token = at.file->token(at.token);
  if (token.type == Token::Type::number) return number_of(token.text);
  if (!token.is_name()) return kNoNumber;
  OnlyNumber only;
  const auto meant = names.resolve(at).declared;
  for (const auto& use : names.project().uses(token.text)) {
    const auto number = given_by(names.project(), use);
    if (!number.has_value()) continue;
    const auto found = use == meant ? meant : names.resolve(use).declared;
    if (meant.file != nullptr && found.file != nullptr && found != meant) continue;
    if (!only.add(*number)) return kNoNumber;
  }
  return only.get();
}

}  // namespace stepleak
