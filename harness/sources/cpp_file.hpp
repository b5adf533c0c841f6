// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "harness/sources/tokens.hpp"

namespace stepleak {

/// Tokens of a file from `first` up to `end`, which is none of them.
struct TokenRange {
  std::size_t first = 0;
  std::size_t end = 0;

  [[nodiscard]] bool contains(std::size_t token) const { return first <= token && token < end; }
};

/// What stands between two braces.
struct CppBlock {
  enum class Type : std::uint8_t {
    function,
    lambda,
    type,    ///< a class, a struct or a union
    space,   ///< a namespace
    loop,    ///< of `for`, `while` or `do`
    branch,  ///< of `if`, `else`, `switch`, `try` or `catch`, or a block of its own
    value,   ///< what something is initialised with
  };
  Type type = Type::value;
  std::size_t head = 0;  ///< token: of a lambda its bracket, of a function and a type its name, else the brace
  TokenRange body;       ///< without the braces
  int parent = -1;       ///< index of the block around it; -1: it stands in the file itself
  std::string_view name;
  std::string_view owner;  ///< of a function that is defined outside of its class: that class
  TokenRange parameters;   ///< of a function and a lambda; empty where it has none
  bool is_const = false;   ///< a member function that does not change its object
  std::vector<std::string_view> bases;

  [[nodiscard]] bool is_callable() const { return type == Type::function || type == Type::lambda; }
};

/// The structure of one C++ source, as far as braces and names show it: no preprocessor runs, no type is known. What
/// does not fit together is passed over. Not changed once it is made, so that threads may share it.
class CppFile {
 public:
  CppFile(std::string path, std::string text);
  CppFile(const CppFile&) = delete;
  CppFile& operator=(const CppFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool is_header() const;
  [[nodiscard]] const std::vector<Token>& tokens() const { return tokens_; }
  [[nodiscard]] const std::vector<CppBlock>& blocks() const { return blocks_; }
  [[nodiscard]] const CppBlock& block(int index) const { return blocks_[static_cast<std::size_t>(index)]; }
  /// The token, or an empty mark before the first and after the last one.
  [[nodiscard]] const Token& token(std::size_t index) const;
  /// Of a bracket the other one; of one that has none, and of other tokens, itself.
  [[nodiscard]] std::size_t partner(std::size_t token) const { return partners_[token]; }
  /// The innermost block around a token; -1: none.
  [[nodiscard]] int block_of(std::size_t token) const { return block_of_[token]; }
  /// The function or lambda around a token, the innermost; -1: none.
  [[nodiscard]] int callable_of(std::size_t token) const;
  /// The function, or where `in_lambda` the lambda, that a line is in, the innermost; -1: none.
  [[nodiscard]] int callable_at(int line, bool in_lambda) const;
  /// The lambda that begins with a bracket, or ends with a brace, at a token; -1: none.
  [[nodiscard]] int lambda_at(std::size_t token) const;
  /// The class whose members a token sees by their names alone; empty: none.
  [[nodiscard]] std::string_view class_around(std::size_t token) const;
  /// Whether a function is of the name of its class.
  [[nodiscard]] bool is_constructor(const CppBlock& function) const;
  /// Statements of a body, in order; those of the blocks in it, too; a lambda is part of the statement around it.
  [[nodiscard]] std::vector<TokenRange> statements(TokenRange body) const;
  /// What commas part, of arguments or parameters: none of those in brackets, nor of a template's, which only
  /// parameters can tell from a comparison. One part at least, which may be empty.
  [[nodiscard]] std::vector<TokenRange> parts(TokenRange list, bool are_parameters) const;
  /// The "<" that a ">" closes, by the token of this one; the same token where there is none in its statement.
  [[nodiscard]] std::size_t opening_angle(std::size_t close) const;
  /// The statement or the block that begins at a token, with what ends it.
  [[nodiscard]] TokenRange extent_of(std::size_t first) const;
  /// Whether a token of a name declares it. Where it does, the type before it, as it stands there, is put into `type`.
  [[nodiscard]] bool is_declaration(std::size_t token, std::string* type = nullptr) const;
  /// A line of the source, trimmed.
  [[nodiscard]] std::string line_text(int line) const;

 private:
  void find_partners();
  void find_blocks();
  [[nodiscard]] CppBlock classify(std::size_t brace) const;
  [[nodiscard]] std::size_t end_of_head(std::size_t brace) const;
  [[nodiscard]] std::size_t before_initialisers(std::size_t close) const;
  [[nodiscard]] CppBlock callable_before(std::size_t close) const;
  [[nodiscard]] CppBlock named_before(std::size_t brace) const;
  [[nodiscard]] bool may_declare_after(std::size_t token) const;
  [[nodiscard]] bool is_bound(std::size_t token, std::string* type) const;
  [[nodiscard]] bool is_further_declarator(std::size_t token, std::string* type) const;

  std::string path_;
  std::string text_;
  std::vector<Token> tokens_;
  std::vector<std::size_t> partners_;
  std::vector<int> block_of_;
  std::vector<int> opened_by_;  ///< by token: the block that it opens; -1: none
  std::vector<CppBlock> blocks_;
};

}  // namespace stepleak
