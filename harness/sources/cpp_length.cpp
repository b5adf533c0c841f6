// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/cpp_length.hpp"

#include <algorithm>
#include <array>

#include "harness/sources/cpp_numbers.hpp"

namespace stepleak {
namespace {

constexpr std::array<std::string_view, 7> kComparisons{">", ">=", "<", "<=", "==", "!=", "%"};
constexpr std::array<std::string_view, 5> kLeaving{"return", "break", "continue", "throw", "goto"};
constexpr std::array<std::string_view, 5> kAssertions{"EXPECT", "ASSERT", "assert", "CHECK", "TORCH_CHECK"};

// A length in a variable, returned by a function, in another variable.
constexpr int kMostReads = 4;

class LengthReader {
 public:
  LengthReader(const std::string& container, const CppStep& step, const CppNames& names)
      : container_(container), step_(step), names_(names) {}

  std::optional<LengthTest> read(const CppFile& file, TokenRange value, int depth = 0) {
    if (depth > 0 && !step_.contains({&file, value.first})) return std::nullopt;
    value = widened(file, value);
    const auto& before = file.token(value.first - 1);
    const auto& after = file.token(value.end);
    // "kept[i % kept.size()]" says which one of them, and "kept.size() % 64" which of 64.
    if (before.is("%") || (after.is("%") && !is_asked(file, value))) return std::nullopt;
    const bool is_left = is_one_of(after.text, kComparisons);
    if (is_left || is_one_of(before.text, kComparisons)) {
      const auto first = is_left ? value.first : value.first - 2;
      if (only_chooses(file, first)) {
        return depth == kMostReads ? std::nullopt : without_bound(handed_on(file, first, depth));
      }
      return compared(file, value.first, is_left ? value.end + 1 : value.first - 2);
    }
    if (depth == kMostReads) return std::nullopt;
    return handed_on(file, value.first, depth);
  }

 private:
  // Where a value goes that begins there: to who called, or to a variable.
  std::optional<LengthTest> handed_on(const CppFile& file, std::size_t first, int depth) {
    const auto& before = file.token(first - 1);
    if (before.is("return")) return returned(file, first, depth);
    const auto name = first - 2;
    if (before.is("=") && file.token(name).is_name()) return put_into({&file, name}, depth);
    return std::nullopt;
  }

  [[nodiscard]] static std::optional<LengthTest> without_bound(std::optional<LengthTest> test) {
    if (test) test->bound = -1;
    return test;
  }

  // Whether a comparison that begins at a token only chooses one of two numbers that its expression stands for: "size()
  // > most ? size() - most : 0" does nothing by itself.
  [[nodiscard]] static bool only_chooses(const CppFile& file, std::size_t first) {
    const auto& before = file.token(first - 1);
    if (!before.is("return") && !before.is("=")) return false;
    bool is_chosen = false;
    for (auto i = first; i < file.tokens().size() && !file.token(i).is(";"); ++i) {
      const auto& token = file.token(i);
      is_chosen = is_chosen || token.is("?");
      if (token.is("&&") || token.is("||") || token.is("{") || token.is("=")) return false;
      if (is_chosen && token.is("(") && file.token(i - 1).is_name() && !is_one_of(file.token(i - 1).text, kLengths)) {
        return false;
      }
    }
    return is_chosen;
  }

  // Over the object that is asked, parentheses and casts around it.
  [[nodiscard]] static TokenRange widened(const CppFile& file, TokenRange value) {
    while (true) {
      const auto& before = file.token(value.first - 1);
      const bool is_path = before.is("::") || before.is(".") || before.is("->");
      const bool is_name =
          file.token(value.first).is(".") || file.token(value.first).is("->") || file.token(value.first).is("::");
      if (is_path || (is_name && before.is_name())) {
        --value.first;
        continue;
      }
      const bool is_enclosed = before.is("(") && file.partner(value.first - 1) == value.end;
      if (!is_enclosed || is_head(file, value.first - 1)) return value;
      const auto open = value.first - 1;
      const auto cast = cast_before(file, open);
      // An argument of a function, or of a function of a type: "list->ptr<Layer>(i)".
      if (cast == 0 && (file.token(open - 1).is_name() || opening_angle(file, open - 1) > 0)) return value;
      value = {cast > 0 ? cast : open, value.end + 1};
    }
  }

  // "static_cast" of "static_cast<long>(...)", "int" of "int(...)", by the parenthesis; 0: no cast.
  [[nodiscard]] static std::size_t cast_before(const CppFile& file, std::size_t open) {
    if (is_type(file.token(open - 1).text)) return open - 1;
    const auto angle = opening_angle(file, open - 1);
    return angle > 0 && file.token(angle - 1).text.ends_with("_cast") ? angle - 1 : 0;
  }

  // "<" of "ptr<nn::Layer>", by the token of ">"; 0: it is none.
  [[nodiscard]] static std::size_t opening_angle(const CppFile& file, std::size_t close) {
    const auto open = file.token(close).is(">") ? file.opening_angle(close) : close;
    return open != close && open > 0 && file.token(open - 1).is_name() ? open : 0;
  }

  [[nodiscard]] static bool is_type(std::string_view word) {
    return word == "int" || word == "int64_t" || word == "long" || word == "size_t" || word == "double" ||
           word == "float" || word == "unsigned";
  }

  [[nodiscard]] static bool is_head(const CppFile& file, std::size_t open) {
    const auto& word = file.token(open - 1);
    return word.is("if") || word.is("while") || word.is("for") || word.is("switch") || word.is("constexpr");
  }

  // Whether a remainder decides something: "size() % 64 == 0", "if (size() % 64)", "!(size() % 64)".
  [[nodiscard]] static bool is_asked(const CppFile& file, TokenRange divided) {
    auto end = divided.end + 1;
    while (file.token(end).is_name() || file.token(end).type == Token::Type::number || file.token(end).is(".") ||
           file.token(end).is("->") || file.token(end).is("::") || file.token(end).is("(")) {
      end = file.token(end).is("(") ? file.partner(end) + 1 : end + 1;
    }
    const auto& after = file.token(end);
    if (is_one_of(after.text, kComparisons) || after.is("?") || after.is("&&") || after.is("||")) return true;
    const auto open = divided.first - 1;
    const bool is_enclosed = file.token(open).is("(") && file.partner(open) == end;
    return is_enclosed && (is_head(file, open) || file.token(open - 1).is("!"));
  }

  // The innermost parentheses around a token; 0: none in its statement. A loop's head has statements of its own.
  [[nodiscard]] static std::size_t around(const CppFile& file, std::size_t token) {
    for (auto i = token; i > 0;) {
      --i;
      if (file.token(i).is("{") || file.token(i).is("}")) return 0;
      if (file.partner(i) < i) {
        i = file.partner(i);
      } else if (file.token(i).is("(")) {
        return i;
      }
    }
    return 0;
  }

  [[nodiscard]] std::optional<LengthTest> compared(const CppFile& file, std::size_t token, std::size_t other) const {
    if (!step_.contains({&file, token})) return std::nullopt;
    bool is_equal = other < token ? file.token(token - 1).is("==") : file.token(other - 1).is("==");
    for (auto open = around(file, token); open > 0; open = around(file, open)) {
      const auto& word = file.token(open - 1);
      if (word.is("for")) return std::nullopt;
      const bool is_assertion = std::any_of(kAssertions.begin(), kAssertions.end(),
                                            [&](std::string_view name) { return word.text.starts_with(name); });
      if (is_assertion) return std::nullopt;
      if (is_head(file, open)) {
        const auto guarded = file.partner(open) + 1;
        if (!is_deciding(file, guarded)) return std::nullopt;
        is_equal = is_equal && !is_leaving(file, guarded);
        break;
      }
    }
    // What it is compared with is one word, or nothing that is known.
    const auto& end = file.token(other + 1);
    const bool is_alone = other < token || !(end.is("+") || end.is("*") || end.is("-") || end.is(".") || end.is("("));
    return LengthTest{{&file, token}, is_alone ? value_of(names_, {&file, other}) : -1, is_equal};
  }

  [[nodiscard]] static bool is_leaving(const CppFile& file, std::size_t first) {
    const auto guarded = file.extent_of(first);
    for (auto i = guarded.first; i < guarded.end; ++i) {
      if (is_one_of(file.token(i).text, kLeaving)) return true;
    }
    return false;
  }

  // Whether the statement that begins there puts something in, takes something out, or leaves.
  [[nodiscard]] bool is_deciding(const CppFile& file, std::size_t first) const {
    if (is_leaving(file, first)) return true;
    const auto guarded = file.extent_of(first);
    for (auto i = guarded.first; i < guarded.end; ++i) {
      if (file.token(i).text == container_) return true;
      if (file.token(i).is_name() && file.token(i + 1).is("(") && names_container(file.token(i).text)) return true;
    }
    return false;
  }

  [[nodiscard]] bool names_container(std::string_view function) const {
    const auto& functions = names_.project().functions(function);
    return std::any_of(functions.begin(), functions.end(), [&](const CppBlockAt& found) {
      const auto& body = found.block().body;
      for (auto i = body.first; i < body.end; ++i) {
        if (found.file->token(i).text == container_) return true;
      }
      return false;
    });
  }

  std::optional<LengthTest> returned(const CppFile& file, std::size_t token, int depth) {
    const auto function = file.callable_of(token);
    if (function < 0 || file.block(function).name.empty()) return std::nullopt;
    for (const auto& use : names_.project().uses(file.block(function).name)) {
      const auto open = use.token + 1;
      if (!use.file->token(open).is("(") || !names_.may_call(use, {&file, function})) continue;
      if (auto found = read(*use.file, {use.token, use.file->partner(open) + 1}, depth + 1)) return found;
    }
    return std::nullopt;
  }

  std::optional<LengthTest> put_into(const TokenAt& variable, int depth) {
    const auto meant = names_.resolve(variable).declared;
    for (const auto& use : names_.project().uses(variable.file->token(variable.token).text)) {
      if (use == variable || (use.file != variable.file && meant.file == nullptr)) continue;
      if (!step_.contains(use) || names_.resolve(use).declared != meant) continue;
      if (auto found = read(*use.file, {use.token, use.token + 1}, depth + 1)) return found;
    }
    return std::nullopt;
  }

  const std::string& container_;
  const CppStep& step_;
  const CppNames& names_;
};

}  // namespace

std::optional<LengthTest> test_of_length(const CppFile& file, std::size_t first, std::size_t last,
                                         const std::string& container, const CppStep& step, const CppNames& names) {
  return LengthReader(container, step, names).read(file, {first, last + 1});
}

}  // namespace stepleak
