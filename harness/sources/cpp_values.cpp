// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/cpp_values.hpp"

#include <algorithm>
#include <array>

#include "harness/sources/cpp_types.hpp"

namespace stepleak {
namespace {

// What gives of a tensor something that does not keep it.
constexpr std::array<std::string_view, 17> kLettingGo{
    "detach", "item",      "data",    "variable_data", "tensor_data", "zeros_like", "ones_like", "empty_like", "sizes",
    "size",   "new_zeros", "options", "device",        "clear",       "argmax",     "argmin",    "multinomial"};

// Whether a lambda holds a copy of a variable. One that it holds by reference, or weakly, it does not keep.
bool captures(const CppFile& file, std::size_t bracket, std::string_view name) {
  const auto lambda = file.lambda_at(bracket);
  if (lambda < 0) return false;
  const auto captured = file.parts({bracket + 1, file.partner(bracket)}, false);
  return std::any_of(captured.begin(), captured.end(), [&](const TokenRange& part) {
    if (part.end <= part.first) return false;
    const bool is_all = file.token(part.first).is("=");
    if (is_all) return mentions(file, file.block(lambda).body, {name});
    // "net", or "own = net".
    const bool is_renamed = part.end == part.first + 3 && file.token(part.first + 1).is("=");
    return (part.end == part.first + 1 || is_renamed) && file.token(part.end - 1).text == name;
  });
}

// Whether nothing that is computed there has a graph.
bool is_without_graph(const CppFile& file, TokenRange body) {
  for (auto i = body.first; i < body.end; ++i) {
    if (file.token(i).is("NoGradGuard") || file.token(i).is("InferenceMode")) return true;
  }
  return false;
}

// Whether a variable stands in a range; `is_whole`: for all of itself, as in "Belief{mean, state}", and not for a
// member of it or an operand.
bool has_variable(const CppFile& file, TokenRange range, std::string_view word, bool is_whole) {
  if (!is_whole) return mentions(file, range, {word});
  for (auto i = range.first; i < range.end; ++i) {
    const auto& before = file.token(i - 1);
    const auto& next = file.token(i + 1);
    const bool begins = before.is("(") || before.is("{") || before.is(",") || before.is("=");
    const bool ends = next.is(")") || next.is("}") || next.is(",") || next.is(";");
    if (begins && ends && mentions(file, {i, i + 1}, {word})) return true;
  }
  return false;
}

// What a statement makes a variable of: what stands behind its "=", or in the parentheses or braces that it is declared
// with. Empty where it does not.
TokenRange source_in(const CppFile& file, TokenRange statement, std::string_view name) {
  const auto mark = mark_of_assignment(file, statement);
  if (mark < statement.end) {
    const auto targets = targets_of(file, {statement.first, mark});
    return std::find(targets.begin(), targets.end(), name) == targets.end() ? TokenRange{}
                                                                            : TokenRange{mark + 1, statement.end};
  }
  for (auto i = statement.first; i < statement.end; ++i) {
    const auto& next = file.token(i + 1);
    if (file.token(i).text == name && (next.is("(") || next.is("{")) && file.is_declaration(i)) {
      return arguments_of(file, i + 1);
    }
  }
  return {};
}

// Whether an expression is made of a variable, by itself or through others of the function, none of which is let go:
// "next" of "state" in "auto next = cell(x, state);".
bool is_made_of(const CppFile& file, int callable, TokenRange range, std::string_view word, bool is_whole,
                std::set<std::string_view>& seen) {
  if (has_variable(file, range, word, is_whole)) return true;
  if (callable < 0 || is_without_graph(file, file.block(callable).body)) return false;
  const auto statements = file.statements(file.block(callable).body);
  for (auto i = range.first; i < range.end; ++i) {
    const auto name = file.token(i).text;
    if (!file.token(i).is_name() || file.token(i + 1).is("(") || !seen.insert(name).second) continue;
    bool is_any = false;
    for (const auto& statement : statements) {
      const auto source = source_in(file, statement, name);
      if (source.end <= source.first) continue;
      if (lets_go(file, source)) {
        is_any = false;
        break;
      }
      is_any = is_any || is_made_of(file, callable, source, word, is_whole, seen);
    }
    if (is_any) return true;
  }
  return false;
}

}  // namespace

bool mentions(const CppFile& file, TokenRange range, const std::set<std::string_view>& values) {
  for (auto i = range.first; i < range.end; ++i) {
    const auto& token = file.token(i);
    // Another object's member of that name is another value.
    const bool is_member = file.token(i - 1).is(".") || file.token(i - 1).is("->") || file.token(i - 1).is("::");
    const bool is_own = is_member && file.token(i - 2).is("this");
    if (token.is_name() && (!is_member || is_own) && values.contains(token.text)) return true;
  }
  return false;
}

std::string_view name_of_parameter(const CppFile& file, TokenRange parameter) {
  auto last = parameter.first;
  for (auto i = parameter.first; i < parameter.end && !file.token(i).is("="); ++i) {
    last = i;
    i = std::max(i, file.partner(i));
  }
  return file.token(last).is_name() ? file.token(last).text : std::string_view();
}

TokenRange arguments_of(const CppFile& file, std::size_t open) { return {open + 1, file.partner(open)}; }

std::size_t begin_of_path(const CppFile& file, std::size_t name) {
  while (name >= 2 && (file.token(name - 1).is(".") || file.token(name - 1).is("->")) &&
         file.token(name - 2).is_name()) {
    name -= 2;
  }
  return name;
}

bool is_move_within(const CppFile& file, std::size_t method) {
  const TokenRange object{begin_of_path(file, method), method - 1};
  const auto given = file.parts(arguments_of(file, method + 1), false);
  return std::any_of(given.begin(), given.end(), [&](const TokenRange& part) {
    if (part.end - part.first != object.end - object.first) return false;
    for (std::size_t i = 0; i < part.end - part.first; ++i) {
      if (!file.token(part.first + i).is(file.token(object.first + i).text)) return false;
    }
    return part.end > part.first;
  });
}

std::size_t object_of_path(const CppFile& file, std::size_t last) {
  while (last > 1) {
    const auto open = file.partner(last);
    if (open < last && open > 0) {
      last = open - 1;
    } else if (file.token(last - 1).is(".")) {
      last -= 2;
    } else if (file.token(last - 1).is("->")) {
      return 0;
    } else {
      break;
    }
  }
  return last;
}

std::size_t name_of_container(const CppFile& file, std::size_t last) {
  while (last > 2) {
    const auto open = file.partner(last);
    const bool closes = open < last && open > 2;
    if (closes && file.token(last).is("]")) {
      last = open - 1;
    } else if (closes && file.token(open - 1).is_name()) {
      const bool is_method = file.token(open - 2).is(".") || file.token(open - 2).is("->");
      if (!is_method || !is_leading_in(file.token(open - 1).text)) return open - 1;
      last = open - 3;
    } else if (closes) {
      --last;
    } else {
      break;
    }
  }
  return last;
}

bool is_given_itself(const CppFile& file, std::size_t name, TokenRange given,
                     const std::set<std::string_view>& values) {
  const auto word = file.token(name).text;
  if (!values.contains(word)) return false;
  for (auto i = given.first; i < given.end; ++i) {
    if (file.token(i).is("[") && captures(file, i, word)) return true;
  }
  return false;
}

std::vector<std::size_t> tied_by(const CppFile& file, std::size_t close) {
  std::vector<std::size_t> tied;
  if (!file.token(close).is(")") || !file.token(file.partner(close) - 1).is("tie")) return tied;
  for (const auto& part : file.parts(arguments_of(file, file.partner(close)), false)) {
    if (part.end > part.first && file.token(part.end - 1).is_name()) tied.push_back(part.end - 1);
  }
  return tied;
}

bool makes_object(const CppFile& file, TokenRange range) {
  for (auto i = range.first; i < range.end; ++i) {
    if (file.token(i).is("new") || file.token(i).text.starts_with("make_")) return true;
  }
  return false;
}

std::vector<std::string_view> targets_of(const CppFile& file, TokenRange left) {
  std::vector<std::string_view> names;
  if (left.end == left.first) return names;
  const auto last = left.end - 1;
  for (const auto name : tied_by(file, last)) names.push_back(file.token(name).text);
  if (file.token(last).is("]")) {
    const auto open = file.partner(last);
    const bool is_binding = open > left.first && (file.token(open - 1).is("auto") || file.token(open - 1).is("&"));
    for (auto i = open; is_binding && i < last; ++i) {
      if (file.token(i).is_name()) names.push_back(file.token(i).text);
    }
    return names;
  }
  // Of "batch.inputs = x" the batch.
  auto name = last;
  while (name >= left.first + 2 && (file.token(name - 1).is(".") || file.token(name - 1).is("->")) &&
         file.token(name - 2).is_name() && !file.token(name - 2).is("this")) {
    name -= 2;
  }
  if (file.token(name).is_name()) names.push_back(file.token(name).text);
  return names;
}

bool lets_go(const CppFile& file, TokenRange range) {
  for (auto i = range.first; i < range.end; ++i) {
    if (is_one_of(file.token(i).text, kLettingGo)) return true;
  }
  return false;
}

std::size_t mark_of_assignment(const CppFile& file, TokenRange statement) {
  for (auto i = statement.first; i < statement.end; ++i) {
    if (file.token(i).is("=")) return i;
    if (file.token(i).is("(") || file.token(i).is("[")) i = std::max(i, file.partner(i));
  }
  return statement.end;
}

bool is_returned_by(const CppFile& file, const CppBlock& callable, std::string_view name) {
  const auto statements = file.statements(callable.body);
  return std::any_of(statements.begin(), statements.end(), [&](const TokenRange& statement) {
    if (!file.token(statement.first).is("return")) return false;
    auto range = TokenRange{statement.first + 1, statement.end};
    if (file.token(range.first).is("{")) range = {range.first + 1, range.end - 1};
    const auto parts = file.parts(range, false);
    return std::any_of(parts.begin(), parts.end(), [&](const TokenRange& part) {
      return part.end == part.first + 1 && file.token(part.first).text == name;
    });
  });
}

bool is_made_of_itself(const TokenAt& name, bool is_whole) {
  const auto& file = *name.file;
  auto end = name.token;
  while (end < file.tokens().size() && !file.token(end).is(";")) ++end;
  if (lets_go(file, {name.token, end})) return false;
  if (file.token(name.token + 1).is("+=")) return true;
  const auto callable = file.callable_of(name.token);
  const auto word = file.token(begin_of_path(file, name.token)).text;
  std::set<std::string_view> seen;
  return is_made_of(file, callable, {name.token + 2, end}, word, is_whole, seen);
}

}  // namespace stepleak
