// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/tokens.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

namespace stepleak {
namespace {

// Longest first. No `>>` and none that begins with it: it may close two templates.
constexpr std::array<std::string_view, 21> kMarks{"...", "->", "::", "==", "!=", "<=", ">=", "&&", "||", "+=", "-=",
                                                  "*=",  "/=", "%=", "&=", "|=", "^=", "++", "--", "<<", "##"};

bool is_name_start(char letter) { return std::isalpha(static_cast<unsigned char>(letter)) != 0 || letter == '_'; }

bool is_name_part(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_'; }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> tokens() {
    while (at_ < source_.size()) take();
    return std::move(tokens_);
  }

 private:
  [[nodiscard]] std::string_view rest() const { return source_.substr(at_); }

  void advance(std::size_t count) {
    const auto passed = rest().substr(0, count);
    line_ += static_cast<int>(std::count(passed.begin(), passed.end(), '\n'));
    at_ += passed.size();
  }

  void add(Token::Type type, std::size_t length) {
    tokens_.push_back({type, rest().substr(0, length), line_});
    advance(length);
  }

  void take() {
    const char letter = source_[at_];
    if (letter == '\n') is_line_empty_ = true;
    if (std::isspace(static_cast<unsigned char>(letter)) != 0) return advance(1);
    if (letter == '#' && is_line_empty_) return skip_line();
    if (rest().starts_with("//")) return skip_line();
    if (rest().starts_with("/*")) return advance(past(rest().find("*/", 2), 2));
    is_line_empty_ = false;
    if (const auto raw = raw_text_length(); raw > 0) return add(Token::Type::text, raw);
    if (letter == '"' || letter == '\'') return add(Token::Type::text, text_length(letter));
    if (is_name_start(letter)) return add(Token::Type::name, length_while(is_name_part));
    const bool is_fraction = letter == '.' && at_ + 1 < source_.size() && std::isdigit(source_[at_ + 1]) != 0;
    if (std::isdigit(static_cast<unsigned char>(letter)) != 0 || is_fraction) {
      return add(Token::Type::number,
                 length_while([](char part) { return is_name_part(part) || part == '.' || part == '\''; }));
    }
    const auto mark = std::find_if(kMarks.begin(), kMarks.end(), [&](auto text) { return rest().starts_with(text); });
    add(Token::Type::mark, mark == kMarks.end() ? 1 : mark->size());
  }

  static std::size_t past(std::size_t found, std::size_t length) {
    return found == std::string_view::npos ? found : found + length;
  }

  template <typename Predicate>
  [[nodiscard]] std::size_t length_while(Predicate is_part) const {
    std::size_t length = 1;
    while (at_ + length < source_.size() && is_part(source_[at_ + length])) ++length;
    return length;
  }

  // A backslash at its end joins a line to the next one.
  void skip_line() {
    std::size_t length = 0;
    while (at_ + length < source_.size() && source_[at_ + length] != '\n') {
      const bool is_joined = source_[at_ + length] == '\\';
      length += is_joined ? 2 : 1;
    }
    advance(length);
  }

  [[nodiscard]] std::size_t text_length(char quote) const {
    std::size_t length = 1;
    while (at_ + length < source_.size() && source_[at_ + length] != quote && source_[at_ + length] != '\n') {
      length += source_[at_ + length] == '\\' ? 2 : 1;
    }
    return length + 1;
  }

  // R"delimiter(text)delimiter", with any prefix; 0 where none begins here.
  [[nodiscard]] std::size_t raw_text_length() const {
    static constexpr std::array<std::string_view, 5> kPrefixes{"R\"", "LR\"", "uR\"", "UR\"", "u8R\""};
    const auto prefix =
        std::find_if(kPrefixes.begin(), kPrefixes.end(), [&](auto text) { return rest().starts_with(text); });
    if (prefix == kPrefixes.end()) return 0;
    const auto open = rest().find('(', prefix->size());
    if (open == std::string_view::npos) return rest().size();
    const auto end = ")" + std::string(rest().substr(prefix->size(), open - prefix->size())) + "\"";
    const auto close = rest().find(end, open);
    return close == std::string_view::npos ? rest().size() : close + end.size();
  }

  std::string_view source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool is_line_empty_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source) { return Lexer(source).tokens(); }

namespace {

constexpr std::string_view kBlanks = " \t";

// Behind each of a preprocessor's words: `visit` gets where the rest of its line begins.
template <typename Visit>
void for_each_directive(std::string_view source, std::string_view word, const Visit& visit) {
  for (auto at = source.find(word); at != std::string_view::npos; at = source.find(word, at + 1)) {
    const auto mark = source.find_last_not_of(kBlanks, at == 0 ? 0 : at - 1);
    if (mark == std::string_view::npos || source[mark] != '#') continue;
    const auto before = mark == 0 ? std::string_view::npos : source.find_last_not_of(kBlanks, mark - 1);
    if (before != std::string_view::npos && source[before] != '\n') continue;  // in a comment
    visit(at + word.size());
  }
}

}  // namespace

std::vector<std::string_view> macro_names_of(std::string_view source) {
  std::vector<std::string_view> names;
  for_each_directive(source, "define", [&](std::size_t first) {
    auto end = source.find('\n', first);
    while (end != std::string_view::npos && source[end - 1] == '\\') end = source.find('\n', end + 1);
    for (const auto& token : tokens_of(source.substr(first, end == std::string_view::npos ? end : end - first))) {
      if (token.is_name()) names.push_back(token.text);
    }
  });
  return names;
}

std::vector<std::string_view> includes_of(std::string_view source) {
  std::vector<std::string_view> includes;
  for_each_directive(source, "include", [&](std::size_t first) {
    const auto open = source.find_first_not_of(kBlanks, first);
    const bool is_named = open != std::string_view::npos && (source[open] == '"' || source[open] == '<');
    const auto close = is_named ? source.find(source[open] == '<' ? '>' : '"', open + 1) : std::string_view::npos;
    includes.push_back(close == std::string_view::npos ? "" : source.substr(open + 1, close - open - 1));
  });
  for (const std::string_view import : {"\nimport ", "\nexport import ", "\nmodule ", "\nexport module "}) {
    if (source.find(import) != std::string_view::npos) includes.emplace_back();
  }
  return includes;
}

}  // namespace stepleak
