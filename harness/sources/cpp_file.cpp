// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/cpp_file.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace stepleak {
namespace {

using Type = CppBlock::Type;

// Between a function's parameters and its body.
constexpr std::array<std::string_view, 9> kQualifiers{"const",    "noexcept", "override", "final", "mutable",
                                                      "volatile", "&",        "&&",       "try"};
// Before a name that is then no new one.
constexpr std::array<std::string_view, 19> kNoTypes{
    "return", "new",   "delete", "throw",     "else",  "case",   "goto",     "co_return", "co_await", "co_yield",
    "using",  "class", "struct", "namespace", "union", "sizeof", "typename", "operator",  "do"};
constexpr std::array<std::string_view, 5> kAccess{"public", "protected", "private", "slots", "signals"};
constexpr std::array<std::string_view, 12> kHeaders{".h",   ".hh",  ".hpp", ".hxx", ".cuh", ".inl",
                                                    ".ipp", ".tpp", ".inc", ".H",   ".h++", ".txx"};

}  // namespace

CppFile::CppFile(std::string path, std::string text)
    : path_(std::move(path)), text_(std::move(text)), tokens_(tokens_of(text_)) {
  find_partners();
  find_blocks();
}

bool CppFile::is_header() const {
  const auto dot = path_.rfind('.');
  return dot == std::string::npos || is_one_of(std::string_view(path_).substr(dot), kHeaders);
}

const Token& CppFile::token(std::size_t index) const {
  static const Token kNone;
  return index < tokens_.size() ? tokens_[index] : kNone;
}

void CppFile::find_partners() {
  partners_.resize(tokens_.size());
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    partners_[i] = i;
    const auto& token = tokens_[i];
    if (token.type != Token::Type::mark) continue;
    if (token.is("(") || token.is("[") || token.is("{")) open.push_back(i);
    const std::string_view opener = token.is(")") ? "(" : token.is("]") ? "[" : token.is("}") ? "{" : "";
    if (opener.empty()) continue;
    // What was opened and is not closed, as in a macro, ends where something around it does.
    auto match = open.size();
    while (match > 0 && !tokens_[open[match - 1]].is(opener)) --match;
    if (match == 0) continue;
    partners_[open[match - 1]] = i;
    partners_[i] = open[match - 1];
    open.resize(match - 1);
  }
}

void CppFile::find_blocks() {
  block_of_.assign(tokens_.size(), -1);
  opened_by_.assign(tokens_.size(), -1);
  std::vector<int> around;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    while (!around.empty() && block(around.back()).body.end <= i) around.pop_back();
    block_of_[i] = around.empty() ? -1 : around.back();
    if (!tokens_[i].is("{") || partners_[i] == i) continue;
    auto found = classify(i);
    found.parent = block_of_[i];
    found.body = {i + 1, partners_[i]};
    opened_by_[i] = static_cast<int>(blocks_.size());
    around.push_back(opened_by_[i]);
    blocks_.push_back(std::move(found));
  }
}

// The token before what qualifies a function and says what it returns: ")" or "]" of one.
std::size_t CppFile::end_of_head(std::size_t brace) const {
  auto at = brace - 1;
  auto type = at;
  const auto is_of_type = [&](const Token& token) {
    return token.is_name() || token.is("::") || token.is("<") || token.is(">") || token.is("*") || token.is("&") ||
           token.is(",");
  };
  while (type > 0 && is_of_type(tokens_[type])) --type;
  if (tokens_[type].is("->") && type > 0) at = type - 1;
  while (at > 0) {
    if (is_one_of(tokens_[at].text, kQualifiers)) {
      --at;
    } else if (tokens_[at].is(")") && partners_[at] > 1 && tokens_[partners_[at] - 1].is("noexcept")) {
      at = partners_[at] - 2;
    } else {
      break;
    }
  }
  return at;
}

std::size_t CppFile::opening_angle(std::size_t close) const {
  int depth = 0;
  for (auto i = close;; --i) {
    const auto& token = tokens_[i];
    if (token.is(">")) ++depth;
    if (token.is("<") && --depth == 0) return i;
    if (token.is(";") || token.is("{") || token.is("}") || i == 0) return close;
  }
}

// From the end of a constructor's last initialiser, "b_(2)" of "A(int c) : a_(1), b_(2)", to its parameters' end; the
// same token where it is no initialiser.
std::size_t CppFile::before_initialisers(std::size_t close) const {
  auto at = close;
  while (tokens_[at].is(")") || tokens_[at].is("}")) {
    auto name = partners_[at];
    if (name == at || name == 0) return close;
    --name;
    if (tokens_[name].is(">")) name = opening_angle(name) == name ? name : opening_angle(name) - 1;
    if (!tokens_[name].is_name()) return close;
    while (name > 1 && tokens_[name - 1].is("::")) name -= 2;
    if (name < 2) return close;
    const auto& before = tokens_[name - 1];
    // "public: A() {" has none.
    if (before.is(":") && is_one_of(tokens_[name - 2].text, kAccess)) return close;
    if (before.is(":")) return end_of_head(name - 1);
    if (!before.is(",")) return close;
    at = name - 2;
  }
  return close;
}

// Of the function or the lambda whose parameters end there; of type `value` where they are no parameters.
CppBlock CppFile::callable_before(std::size_t close) const {
  const auto open = partners_[close];
  CppBlock found;
  if (open == close || open == 0) return found;
  found.parameters = {open + 1, close};
  auto name = open - 1;
  if (tokens_[name].is("]")) {
    found.type = Type::lambda;
    found.head = partners_[name];
    return found;
  }
  if (tokens_[name].is(">")) {
    const auto angle = opening_angle(name);
    if (angle == name || angle == 0) return found;
    name = angle - 1;
  }
  const bool is_call_operator =
      tokens_[name].is(")") && partners_[name] > 0 && tokens_[partners_[name] - 1].is("operator");
  const bool is_operator = name > 0 && tokens_[name].type == Token::Type::mark && tokens_[name - 1].is("operator");
  if (is_call_operator || is_operator) {
    found.type = Type::function;
    found.head = is_call_operator ? partners_[name] - 1 : name - 1;
    found.name = tokens_[found.head].text;
  } else if (tokens_[name].is_name() && !is_one_of(tokens_[name].text, kNoTypes)) {
    found.type = Type::function;
    found.head = name;
    found.name = tokens_[name].text;
  }
  const bool is_destructor = found.head > 0 && tokens_[found.head - 1].is("~");
  const auto before = found.head - (is_destructor ? 1 : 0);
  if (is_destructor) found.name = "~";
  if (found.type == Type::function && before > 1 && tokens_[before - 1].is("::") && tokens_[before - 2].is_name()) {
    found.owner = tokens_[before - 2].text;
  }
  return found;
}

// A type or a namespace, by the words before its brace.
CppBlock CppFile::named_before(std::size_t brace) const {
  CppBlock found;
  for (auto i = brace; i > 0;) {
    const auto& token = tokens_[--i];
    if (token.is(";") || token.is("{") || token.is("}") || token.is(")") || token.is("=")) break;
    if (token.is("namespace") || token.is("extern")) {
      found.type = Type::space;
      return found;
    }
    if (!token.is("class") && !token.is("struct") && !token.is("union")) continue;
    if (i > 0 && (tokens_[i - 1].is("enum") || tokens_[i - 1].is("<") || tokens_[i - 1].is(","))) continue;
    found.type = Type::type;
    bool is_base = false;
    for (auto part = i + 1; part < brace; ++part) {
      if (tokens_[part].is(":")) is_base = true;
      if (!tokens_[part].is_name() || tokens_[part].is("final")) continue;
      if (is_base) {
        found.bases.push_back(tokens_[part].text);
      } else {
        found.name = tokens_[part].text;
        found.head = part;
      }
    }
    return found;
  }
  return found;
}

CppBlock CppFile::classify(std::size_t brace) const {
  CppBlock found{.head = brace};
  if (brace == 0) return found;
  const auto& before = tokens_[brace - 1];
  if (before.is("do")) found.type = Type::loop;
  if (before.is("else") || before.is("try") || before.is(";") || before.is("{") || before.is("}") || before.is(":")) {
    found.type = Type::branch;
  }
  auto at = end_of_head(brace);
  if (tokens_[at].is("]") && partners_[at] != at) {
    const auto open = partners_[at];
    const bool is_subscript = open > 0 &&
                              (tokens_[open - 1].is_name() || tokens_[open - 1].is(")") || tokens_[open - 1].is("]")) &&
                              !tokens_[open - 1].is("return");
    return is_subscript ? found : CppBlock{.type = Type::lambda, .head = open};
  }
  if (tokens_[at].is(")") || tokens_[at].is("}")) {
    const auto open = partners_[at];
    if (tokens_[at].is(")") && open > 0) {
      auto word = open - 1;
      if (tokens_[word].is("constexpr") && word > 0) --word;
      if (tokens_[word].is("for") || tokens_[word].is("while")) return {.type = Type::loop, .head = word};
      if (tokens_[word].is("if") || tokens_[word].is("switch") || tokens_[word].is("catch")) {
        return {.type = Type::branch, .head = word};
      }
    }
    const auto close = before_initialisers(at);
    if (tokens_[close].is(")")) {
      auto callable = callable_before(close);
      for (auto i = close + 1; i < brace && !tokens_[i].is(":"); ++i) callable.is_const |= tokens_[i].is("const");
      if (callable.type != Type::value) return callable;
    }
    return found;
  }
  auto named = named_before(brace);
  return named.type == Type::value ? found : named;
}

int CppFile::callable_of(std::size_t token) const {
  auto index = block_of_[token];
  while (index >= 0 && !block(index).is_callable()) index = block(index).parent;
  return index;
}

int CppFile::lambda_at(std::size_t token) const {
  const auto found = std::find_if(blocks_.begin(), blocks_.end(), [&](const CppBlock& block) {
    return block.type == Type::lambda && (block.head == token || block.body.end == token);
  });
  return found == blocks_.end() ? -1 : static_cast<int>(found - blocks_.begin());
}

int CppFile::callable_at(int line, bool in_lambda) const {
  int found = -1;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const auto& candidate = blocks_[i];
    if (candidate.type != (in_lambda ? Type::lambda : Type::function)) continue;
    // Blocks stand in the order of their braces: of several around a line the last one is the innermost.
    if (tokens_[candidate.head].line <= line && line <= token(candidate.body.end).line) found = static_cast<int>(i);
  }
  return found;
}

bool CppFile::is_constructor(const CppBlock& function) const {
  return !function.name.empty() && (function.name == function.owner || function.name == class_around(function.head));
}

std::string_view CppFile::class_around(std::size_t token) const {
  for (auto index = block_of_[token]; index >= 0; index = block(index).parent) {
    const auto& around = block(index);
    if (around.type == Type::type) return around.name;
    if (around.type == Type::function && !around.owner.empty()) return around.owner;
  }
  return {};
}

std::vector<TokenRange> CppFile::statements(TokenRange body) const {
  std::vector<TokenRange> found;
  auto first = body.first;
  const auto end_at = [&](std::size_t token) {
    if (token > first) found.push_back({first, token});
    first = token + 1;
  };
  for (auto i = body.first; i < body.end; ++i) {
    const auto& token = tokens_[i];
    if (token.is("(") || token.is("[")) {
      i = std::max(i, std::min(partners_[i], body.end - 1));
    } else if (token.is("{")) {
      const auto opened = opened_by_[i];
      const bool is_part = opened >= 0 && (block(opened).type == Type::lambda || block(opened).type == Type::value);
      if (is_part) {
        i = block(opened).body.end;
      } else {
        end_at(i);
      }
    } else if (token.is(";") || token.is("}")) {
      end_at(i);
    }
  }
  end_at(body.end);
  return found;
}

std::vector<TokenRange> CppFile::parts(TokenRange list, bool are_parameters) const {
  std::vector<TokenRange> found;
  auto first = list.first;
  int angles = 0;
  for (auto i = list.first; i < list.end; ++i) {
    if (are_parameters) angles += token(i).is("<") ? 1 : token(i).is(">") ? -1 : 0;
    if (angles <= 0 && token(i).is(",")) {
      found.push_back({first, i});
      first = i + 1;
    } else if (partners_[i] > i) {
      i = partners_[i];
    }
  }
  found.push_back({first, list.end});
  return found;
}

TokenRange CppFile::extent_of(std::size_t first) const {
  if (token(first).is("{")) return {first, partners_[first] + 1};
  auto end = first;
  while (end < tokens_.size() && !tokens_[end].is(";")) end = std::max(end, partners_[end]) + 1;
  return {first, std::min(end + 1, tokens_.size())};
}

// Parentheses in which a name may be declared: of parameters, and of a loop's head.
bool CppFile::may_declare_after(std::size_t token) const {
  auto open = token;
  while (open > 0 && !tokens_[open].is("(")) {
    if (tokens_[open].is(";") || tokens_[open].is("{") || tokens_[open].is("}")) return true;
    open = partners_[open] < open ? partners_[open] - (partners_[open] > 0 ? 1 : 0) : open - 1;
  }
  const bool is_head = open > 0 && (tokens_[open - 1].is("for") || tokens_[open - 1].is("if") ||
                                    tokens_[open - 1].is("while") || tokens_[open - 1].is("catch"));
  return is_head || std::any_of(blocks_.begin(), blocks_.end(), [&](const CppBlock& block) {
           return block.is_callable() && block.parameters.first == open + 1;
         });
}

// One of "const auto& [key, queue]".
bool CppFile::is_bound(std::size_t token, std::string* type) const {
  if (!this->token(token + 1).is("]") && !this->token(token + 1).is(",")) return false;
  auto open = token - 1;
  while (open > 0 && (tokens_[open].is(",") || tokens_[open].is_name())) --open;
  auto word = open;
  while (word > 0 && (tokens_[word - 1].is("&") || tokens_[word - 1].is("&&"))) --word;
  if (!tokens_[open].is("[") || word == 0 || !tokens_[word - 1].is("auto")) return false;
  if (type == nullptr) return true;
  *type = word > 1 && tokens_[word - 2].is("const") ? "const auto" : "auto";
  for (auto i = word; i < open; ++i) *type += tokens_[i].text;
  return true;
}

// "bytes" of "int64_t most = 9, bytes = 0;".
bool CppFile::is_further_declarator(std::size_t token, std::string* type) const {
  static constexpr std::array<std::string_view, 4> kAfter{";", "=", ",", "["};
  constexpr std::size_t kMostTokens = 500;  // a generated table of names has thousands
  if (!this->token(token - 1).is(",") || !is_one_of(this->token(token + 1).text, kAfter)) return false;
  auto end = token - 1;  // of the first declarator
  for (auto i = end; i > 0; --i) {
    const auto& part = tokens_[i];
    if (part.is(";") || part.is("{") || part.is("}") || part.is(":")) break;
    if (token - i > kMostTokens) return false;
    if (part.is("[") || (part.is("(") && !tokens_[i - 1].is("for"))) return false;
    if (part.is("(")) break;
    if (part.is(",") || part.is("=")) end = i;
    if (part.is(">")) {
      i = opening_angle(i);
    } else if (partner(i) < i) {
      i = partner(i);
    }
  }
  const auto name = tokens_[end - 1].is("]") ? partner(end - 1) - 1 : end - 1;
  return this->token(name).is_name() && is_declaration(name, type);
}

bool CppFile::is_declaration(std::size_t token, std::string* type) const {
  static constexpr std::array<std::string_view, 8> kAfter{";", "=", "{", "(", ",", ")", "[", ":"};
  if (token == 0 || !this->token(token).is_name()) return false;
  if (is_bound(token, type) || is_further_declarator(token, type)) return true;
  if (!is_one_of(this->token(token + 1).text, kAfter)) return false;
  auto at = token - 1;
  bool has_type = false;
  while (true) {
    const auto& part = tokens_[at];
    if (part.is(">")) {
      const auto angle = opening_angle(at);
      if (angle == at) return false;
      at = angle;
    } else if (part.is_name()) {
      if (is_one_of(part.text, kNoTypes)) return false;
      has_type = true;
    } else if (!part.is("::") && !part.is("*") && !part.is("&") && !part.is("&&")) {
      break;
    }
    if (at == 0) break;
    --at;
  }
  if (!has_type) return false;
  const auto& before = tokens_[at];
  const bool is_argument = before.is("(") || before.is(",");
  const bool is_start = before.is(";") || before.is("{") || before.is("}") || before.is(":") || before.is(")") ||
                        before.is("]") || before.is(">") || at == 0;
  if (!is_start && !(is_argument && may_declare_after(at))) return false;
  if (type != nullptr) {
    type->clear();
    for (auto i = at == 0 ? 0 : at + 1; i < token; ++i) {
      const bool is_apart = !type->empty() && tokens_[i].is_name() && tokens_[i - 1].is_name();
      *type += (is_apart ? " " : "") + std::string(tokens_[i].text);
    }
  }
  return true;
}

std::string CppFile::line_text(int line) const {
  std::string_view rest = text_;
  for (int i = 1; i < line && !rest.empty(); ++i) {
    const auto end = rest.find('\n');
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  rest = rest.substr(0, rest.find('\n'));
  const auto first = rest.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return std::string(rest.substr(first, rest.find_last_not_of(" \t\r") - first + 1));
}

}  // namespace stepleak
