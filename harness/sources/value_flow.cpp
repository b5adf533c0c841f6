// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/value_flow.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "harness/sources/cpp_callbacks.hpp"
#include "harness/sources/cpp_reach.hpp"
#include "harness/sources/cpp_types.hpp"
#include "harness/sources/cpp_values.hpp"
#include "harness/trace/holder_text.hpp"

namespace stepleak {
namespace {

using Scope = CppContainer::Scope;

// Of a tensor, what gives it a function that runs with its gradient.
constexpr std::string_view kHooking = "register_hook";

constexpr std::array<std::string_view, 18> kFilling{
    "push_back",     "emplace_back", "push",  "emplace",          "insert",       "push_front",
    "emplace_front", "append",       "add",   "insert_or_assign", "emplace_hint", "insert_after",
    "try_emplace",   "splice",       "merge", "splice_after",     kHooking,       kGrouping};

// Of what an algorithm writes to: "std::transform(first, last, std::back_inserter(kept), clone)".
constexpr std::array<std::string_view, 3> kInserting{"back_inserter", "front_inserter", "inserter"};

// Calls within calls, from the function that makes a value to the one that keeps it.
constexpr int kMostCalls = 4;
// Functions of one name: more of them are a word that everybody uses.
constexpr std::size_t kMostFunctions = 8;

// Where it is not known on which line of a function a value was made.
constexpr int kAnyLine = -1;

bool is_on_line(const CppFile& file, TokenRange range, int line) {
  if (range.first >= range.end) return false;
  return line == kAnyLine || (file.token(range.first).line <= line && line <= file.token(range.end - 1).line);
}

// "adapter.emplace(width)" of a std::optional puts it into the place of what was there.
bool is_optional(const CppContainer& container) {
  const auto angle = container.type.find('<');
  return !container.is_item && angle != std::string::npos && container.type.substr(0, angle).ends_with("optional");
}

// "do kept.push_back(x); while (watch.step());"
bool is_in_loop_without_braces(const CppFile& file, std::size_t token) {
  for (auto i = token; i > 0; --i) {
    const auto& word = file.token(i - 1);
    if (word.is("do") || word.is("while") || word.is("for")) return true;
    if (word.is(";") || word.is("{") || word.is("}")) return false;
  }
  return false;
}

bool ends_with_the_call(const CppContainer& container, const TokenAt& use, const CppBlockAt& callable) {
  const auto& home = container.declared;
  if (container.scope != Scope::local || home.file != use.file || home.file == nullptr) return false;
  if (home.file->callable_of(home.token) != callable.index) return false;
  const bool is_static =
      container.type.find("static") != std::string::npos || container.type.find("thread_local") != std::string::npos;
  if (is_static || container.is_reference()) return false;
  if (!has_loop_of_steps(callable)) return true;
  const auto loop = outermost_loop(use, callable.index);
  if (loop < 0) return !is_in_loop_without_braces(*use.file, use.token);
  return use.file->block(loop).body.contains(home.token);
}

// addr2line may give what is inlined into a function, as the standard library's code is, the name of that function.
// What calls a std::function is ours none the less.
bool is_of_harness(const Frame& frame) {
  const bool is_library = frame.file.find("/include/c++/") != std::string::npos;
  const bool is_call = frame.file.ends_with("/std_function.h") || frame.file.ends_with("/invoke.h");
  return frame.function.find("stepleak::") != std::string::npos && (!is_library || is_call);
}

bool is_lambda(const Frame& frame) {
  return frame.function.find("lambda") != std::string::npos || frame.function.ends_with("operator()") ||
         frame.function.find("operator()(") != std::string::npos;
}

// Whether something may be made in an expression: it is more than a number, a text or the name of what there was.
bool is_computed(const CppFile& file, TokenRange expression) {
  for (auto i = expression.first; i < expression.end; ++i) {
    const auto& token = file.token(i);
    const bool is_path = token.is_name() || token.is(".") || token.is("->") || token.is("::");
    if (!is_path && token.type != Token::Type::number && token.type != Token::Type::text) return true;
  }
  return false;
}

// "const double", which keeps nothing of what it was computed from; not what holds several.
bool is_one_number(const std::string& type) {
  return type.find_first_of("<*") == std::string::npos && holds_numbers({.type = type});
}

// The type of "const double weight = 1".
std::string type_of_parameter(const CppFile& file, TokenRange parameter) {
  std::string type;
  for (auto i = parameter.first; i + 1 < parameter.end && !file.token(i + 1).is("="); ++i) {
    type += std::string(file.token(i).text) + " ";
  }
  return type;
}

// "rl::Node::Node(int)". One that the compiler makes has the line of its class, or that of a member that it begins.
bool is_constructor(const Frame& frame) {
  const auto name = std::string_view(frame.function).substr(0, frame.function.find('('));
  const auto mark = name.rfind("::");
  if (mark == std::string_view::npos) return false;
  const auto before = name.substr(0, mark);
  const auto outer = before.rfind("::");
  return name.substr(mark + 2) == before.substr(outer == std::string_view::npos ? 0 : outer + 2);
}

// "TORCH_MODULE(Net);": the functions that a macro makes have its line, and hand on what they are given.
bool is_of_macro(const CppFile& file, int line) {
  const auto& tokens = file.tokens();
  const auto first = std::ranges::lower_bound(tokens, line, {}, &Token::line);
  if (first == tokens.end() || first->line != line || !first->is_name() || !std::next(first)->is("(")) return false;
  return std::ranges::all_of(first->text, [](char c) { return c == '_' || (c >= 'A' && c <= 'Z'); });
}

// The names that the handlers of the try blocks around a line give what they catch.
std::set<std::string_view> caught_at(const CppBlockAt& callable, int line) {
  const auto& file = *callable.file;
  const auto& body = callable.block().body;
  std::set<std::string_view> names;
  for (auto i = body.first; i < body.end; ++i) {
    if (!file.token(i).is("try") || !file.token(i + 1).is("{")) continue;
    auto close = file.partner(i + 1);
    if (line < file.token(i + 1).line || file.token(close).line < line) continue;
    while (file.token(close + 1).is("catch") && file.token(close + 2).is("(") && file.partner(close + 2) > close + 2) {
      names.insert(name_of_parameter(file, arguments_of(file, close + 2)));
      const auto open = file.partner(close + 2) + 1;
      if (file.partner(open) <= open) break;
      close = file.partner(open);
    }
  }
  names.erase(std::string_view());  // "..."
  return names;
}

}  // namespace

bool is_filling(std::string_view method) { return is_one_of(method, kFilling); }

std::vector<ValueFlow::Place> ValueFlow::places_of(const std::vector<Frame>& stack) const {
  std::vector<Place> places;
  for (const auto& frame : stack) {
    if (frame.owner != FrameOwner::user) {
      // Above it stands who runs the steps.
      if (!places.empty() && is_of_harness(frame)) break;
      continue;
    }
    const auto* file = names_.project().file(frame.file);
    if (file == nullptr) break;
    auto index = file->callable_at(frame.line, is_lambda(frame));
    if (index < 0) index = file->callable_at(frame.line, !is_lambda(frame));
    if (index < 0 && (is_of_macro(*file, frame.line) || is_constructor(frame))) continue;
    if (index < 0) break;
    places.push_back({{file, index}, frame.line});
  }
  return places;
}

std::vector<CppFill> ValueFlow::fills_of(const std::vector<Frame>& stack) {
  fills_.clear();
  handed_.clear();
  const auto places = places_of(stack);
  for (const auto& place : places) running_.insert(place.callable);
  bool is_returned = true;
  is_thrown_ = false;
  const auto follow_caught = [&](const Place& place) {
    const auto caught = is_thrown_ ? caught_at(place.callable, place.line) : std::set<std::string_view>();
    if (caught.empty()) return;
    is_thrown_ = false;
    follow(place.callable, 0, caught, 0);
  };
  for (const auto& place : places) {
    follow_caught(place);
    const auto& block = place.callable.block();
    const auto line = is_returned ? place.line : 0;
    is_returned = follow(place.callable, line, handed_[place.callable], 0);
    follow_caught(place);
    if (is_returned && block.type == CppBlock::Type::lambda) follow_result(place.callable);
    // A constructor "returns" the object that it makes.
    is_returned = is_returned || (place.callable.file->is_constructor(block) && line > 0);
    const auto caller = &place + 1;
    if (!is_returned && !is_thrown_ && (caller == places.data() + places.size() || !handed_.contains(caller->callable)))
      break;
  }
  running_.clear();
  return std::move(fills_);
}

std::vector<CppFill> ValueFlow::fills_from(const TokenAt& removal, const CppContainer& container) {
  fills_.clear();
  handed_.clear();
  const CppBlockAt callable{removal.file, removal.file->callable_of(removal.token)};
  if (callable.index >= 0) follow(callable, 0, {removal.file->token(removal.token).text}, 0);
  std::erase_if(fills_, [&](const CppFill& fill) { return fill.container.declared == container.declared; });
  return std::move(fills_);
}

// What a lambda returns that is handed to a pool, as in "pending.push_back(pool.submit([x] { return f(x); }))", is kept
// by what keeps the future.
void ValueFlow::follow_result(const CppBlockAt& lambda) {
  const auto& file = *lambda.file;
  const CppBlockAt callable{&file, file.callable_of(lambda.block().head)};
  if (callable.index < 0) return;
  const auto known = fills_.size();
  std::set<std::string_view> values;
  bool is_in_call = false;
  for (auto at = lambda.block().head; at > callable.block().body.first;) {
    --at;
    const auto& token = file.token(at);
    if (token.is(";") || token.is("{") || token.is("}")) break;
    if (file.partner(at) < at) {
      at = file.partner(at);
    } else if (token.is("=") && is_in_call) {
      for (const auto target : targets_of(file, {file.token(at - 2).is_name() ? at - 2 : at - 1, at})) {
        values.insert(target);
      }
    } else if (token.is("(") && file.token(at - 1).is_name()) {
      const auto& method = file.token(at - 1);
      if (is_in_call && is_filling(method.text) && file.token(at - 2).is(".")) {
        add_fill(CppFill::Type::entry, callable, {&file, at - 1}, at - 3, values);
      }
      is_in_call = true;
    }
  }
  if (!values.empty()) follow(callable, 0, values, 0);
  const auto is_of_others = [](const CppFill& fill) { return fill.container.type.find("uture") == std::string::npos; };
  fills_.erase(std::remove_if(fills_.begin() + static_cast<std::ptrdiff_t>(known), fills_.end(), is_of_others),
               fills_.end());
}

// Whether the value is returned.
bool ValueFlow::follow(const CppBlockAt& callable, int line, std::set<std::string_view> values, int depth) {
  const auto& file = *callable.file;
  const auto statements = file.statements(callable.block().body);
  // In what a macro is given, as the step in EXPECT_NO_GPU_LEAK([&] { ... }), debug information knows the line of the
  // macro alone: any statement may be the one.
  const bool is_any = line > 0 && std::none_of(statements.begin(), statements.end(), [&](const TokenRange& statement) {
                        return is_on_line(file, statement, line);
                      });
  const bool is_new = running_.insert(callable).second;
  bool is_returned = false;
  // Twice: in a loop a statement may come before what it needs.
  for (int round = 0; round < 2; ++round) {
    for (const auto& statement : statements) {
      const bool is_origin = line > 0 && (is_any || is_on_line(file, statement, line));
      if (!is_origin && !mentions(file, statement, values)) continue;
      is_returned |= follow_statement(callable, file, statement, is_origin, is_any ? kAnyLine : line, values, depth);
    }
  }
  if (is_new) running_.erase(callable);
  return is_returned;
}

bool ValueFlow::follow_statement(const CppBlockAt& callable, const CppFile& file, TokenRange statement, bool is_origin,
                                 int line, std::set<std::string_view>& values, int depth) {
  const auto has_value = [&](TokenRange range) {
    return mentions(file, range, values) || (is_origin && is_on_line(file, range, line));
  };
  if (is_origin) follow_streams(callable, file, statement, values);
  // "net->to(device);" makes the parameters of net anew.
  const auto path = begin_of_path(file, statement.first + 2);
  const bool is_moved = file.token(statement.first + 1).is("->") && file.token(statement.first + 2).is("to");
  if (is_origin && is_moved && path == statement.first) values.insert(file.token(path).text);
  const bool is_return = file.token(statement.first).is("return") || file.token(statement.first).is("co_return");
  for (auto i = statement.first; i < statement.end; ++i) {
    const auto& token = file.token(i);
    is_thrown_ = is_thrown_ || (token.is("throw") && has_value({i, statement.end}));
    const bool has_arguments = file.token(i + 1).is("(") && file.partner(i + 1) > i + 1;
    const bool is_call = token.is_name() && has_arguments;
    // "handlers_[name](output)", "std::make_shared<Tracker>(output)"
    const bool is_other_call = (token.is("]") || token.is(")") || token.is(">")) && has_arguments;
    const bool is_method = file.token(i - 1).is(".") || file.token(i - 1).is("->");
    const bool is_hook = is_call && is_method && token.is(kHooking);
    if (is_hook && is_given_itself(file, begin_of_path(file, i), arguments_of(file, i + 1), values)) {
      add_capture(file, {begin_of_path(file, i), i + 1}, kCapturingType);
    } else if (is_call && is_method && is_filling(token.text) && !is_own_method({&file, i}) &&
               !is_move_within(file, i)) {
      const bool is_here = is_origin && (line == kAnyLine || token.line == line);  // the container's own memory grows
      // What holds numbers keeps nothing but its own memory: "losses.push_back(loss.item<float>())".
      const auto container = names_.referent_of({&file, i - 2});
      const bool is_of_numbers = holds_numbers(container);
      if (token.is("emplace") && is_optional(container) && (is_here || has_value(arguments_of(file, i + 1)))) {
        values.insert(file.token(begin_of_path(file, i)).text);
      } else if (is_here || (has_value(arguments_of(file, i + 1)) && !is_of_numbers)) {
        const auto type = token.is(kGrouping) ? CppFill::Type::group : CppFill::Type::entry;
        add_fill(type, callable, {&file, i}, i - 2, values);
      }
    } else if (is_call && is_one_of(token.text, kInserting) && has_value(statement)) {
      const auto into = file.parts(arguments_of(file, i + 1), false).front();
      if (into.end > into.first) add_fill(CppFill::Type::entry, callable, {&file, i}, into.end - 1, values);
    } else if ((is_call || is_other_call) && has_value(arguments_of(file, i + 1))) {
      follow_call(file, i, values, is_origin, depth);
      if (const auto handed = handed_.find(callable); handed != handed_.end()) values.merge(handed->second);
    }
    if (token.is_name() && is_method && file.token(i + 1).is("(")) follow_own(file, i, values, depth);
    if (token.is(":") && statement.first < i && file.token(statement.first).is("for") &&
        has_value({i + 1, statement.end})) {
      values.insert(file.token(i - 1).text);
    }
  }
  // Assignments and what is declared with parentheses or braces; not those in parentheses, which are a lambda's.
  for (auto i = statement.first; i < statement.end; ++i) {
    const auto& token = file.token(i);
    const bool is_assignment = token.is("=") || token.is("+=");
    if (is_assignment && has_value({i + 1, statement.end})) {
      follow_assignment(callable, file, statement, i, values);
      break;
    }
    const bool opens = token.is("(") || token.is("{");
    if (opens && i > statement.first && has_value(arguments_of(file, i)) && file.is_declaration(i - 1)) {
      if (token.is("{")) follow_call(file, i - 1, values, is_origin, depth);
      values.insert(file.token(i - 1).text);
    }
    if (token.is("(") || token.is("[")) i = std::max(i, file.partner(i));
  }
  return is_return && has_value(statement);
}

// What is written into a stream that lies in memory belongs to it: "text << x", "torch::save(model, *stream)".
// Functions of the project's are read instead.
void ValueFlow::follow_streams(const CppBlockAt& callable, const CppFile& file, TokenRange statement,
                               std::set<std::string_view>& values) {
  for (auto i = statement.first; i < statement.end; ++i) {
    if (!file.token(i).is_name() || !is_memory_stream(names_.referent({&file, i}), names_.project())) continue;
    const auto& next = file.token(i + 1);
    const auto first = begin_of_path(file, i) - (file.token(begin_of_path(file, i) - 1).is("*") ? 1 : 0);
    const auto& before = file.token(first - 1);
    bool is_written = next.is("<<") && first == statement.first;
    if ((before.is("(") || before.is(",")) && (next.is(")") || next.is(","))) {
      auto open = i;
      while (open > statement.first && !(file.token(open).is("(") && file.partner(open) > i)) --open;
      const auto& called = file.token(open - 1);
      const bool is_variable = file.is_declaration(open - 1) && !file.token(open - 2).is("::");
      is_written = called.is_name() && names_.project().functions(called.text).empty() && !is_variable;
    }
    if (is_written) add_fill(CppFill::Type::entry, callable, {&file, i}, i, values);
  }
}

// The right side has the value.
void ValueFlow::follow_assignment(const CppBlockAt& callable, const CppFile& file, TokenRange statement,
                                  std::size_t mark, std::set<std::string_view>& values) {
  const TokenRange left{statement.first, mark};
  if (left.first == left.end) return;
  const auto bracket = file.token(mark - 1).is("]") ? file.partner(mark - 1) : mark;
  const bool is_subscript = bracket > left.first && bracket < mark && file.token(bracket - 1).is_name() &&
                            !file.token(bracket - 1).is("auto");
  if (is_subscript) {
    const auto name = bracket - 1;
    const auto word = file.token(name).text;
    if (add_context(callable, file, statement, mark, values)) return;
    const auto container = names_.referent_of({&file, name});
    if (is_associative(container, names_.project())) {
      add_fill(CppFill::Type::entry, callable, {&file, bracket}, name, values);
    } else if (is_sequence(container, names_.project()) && holds_plain_items(container, names_.project())) {
      return;  // a number keeps nothing of what it was computed from, and what is there gets no longer
    } else if (is_sequence(container, names_.project()) && !mentions(file, {mark + 1, statement.end}, {word})) {
      add_fill(CppFill::Type::slot, callable, {&file, bracket}, name, values);
    }
    values.insert(word);
    return;
  }
  const auto name = mark - 1;
  const bool is_plain =
      file.token(name).is_name() && (name == left.first || file.token(name - 2).is("this") ||
                                     !(file.token(name - 1).is(".") || file.token(name - 1).is("->")));
  const auto begin = begin_of_path(file, name);
  if (begin < name && is_given_itself(file, begin, {mark + 1, statement.end}, values)) {
    add_capture(file, {begin, mark}, kCapturingType);
  }
  // "std::tie(output, state) = cell(x, state);"
  if (const auto tied = tied_by(file, name); !tied.empty()) {
    for (const auto last : tied) {
      if (is_made_of_itself({&file, last})) add_fill(CppFill::Type::sum, callable, {&file, mark}, last, values);
      values.insert(file.token(last).text);
    }
    return;
  }
  if (!is_plain && begin < name) {
    add_place(callable, {&file, begin}, values);
    if (is_made_of_itself({&file, name})) add_fill(CppFill::Type::sum, callable, {&file, mark}, name, values);
  }
  if (is_plain && !file.is_declaration(name)) {
    if (is_made_of_itself({&file, name})) {
      add_fill(CppFill::Type::sum, callable, {&file, mark}, name, values);
    } else {
      add_place(callable, {&file, name}, values);
    }
  }
  if (std::string type; is_plain && file.is_declaration(name, &type) && is_one_number(type)) return;
  for (const auto target : targets_of(file, left)) values.insert(target);
}

// Whether a method is one of a class of the project's: what that does with the value is read.
bool ValueFlow::is_own_method(TokenAt method) const {
  const auto functions = names_.project().functions(method.file->token(method.token).text);
  return std::any_of(functions.begin(), functions.end(),
                     [&](const CppBlockAt& function) { return names_.may_call(method, function); });
}

// `last`: the last token of what names the container.
void ValueFlow::add_fill(CppFill::Type type, const CppBlockAt& callable, TokenAt at, std::size_t last,
                         std::set<std::string_view>& values) {
  const auto& file = *at.file;
  const auto receiver = name_of_container(file, last);
  if (!file.token(receiver).is_name()) return;
  const TokenAt use{&file, receiver};
  auto container = names_.referent_of({&file, last});
  if (type == CppFill::Type::sum && holds_numbers(container)) return;
  // Of a fixed size it has no more memory than at first, unless its items have some.
  const bool is_fixed = capacity_of(container, names_.project()) == CppCapacity::fixed;
  if (is_fixed && holds_plain_items(container, names_.project())) return;
  if (container.is_lent()) {
    const auto lent = lender_of(container);
    if (!lent.has_value()) return;
    container = *lent;
  }
  // A member, and what a library gives of a variable, ends with the object that it is of.
  const auto first = object_of_path(file, last);
  const auto object = first > 0 && file.token(first).is_name() ? names_.referent({&file, first}) : CppContainer{};
  const bool ends = ends_with_the_call(container, use, callable);
  if (ends || ends_with_the_call(object, use, callable)) {
    values.insert(file.token(ends ? receiver : first).text);
    return;
  }
  if (const auto made = object_made_here(callable, use, begin_of_path(file, last)); made.file != nullptr) {
    values.insert(file.token(made.token).text);
    return;
  }
  if (container.is_item && type == CppFill::Type::entry) type = CppFill::Type::item;
  const bool is_known = std::any_of(fills_.begin(), fills_.end(), [&](const CppFill& fill) { return fill.at == at; });
  if (!is_known) fills_.push_back({.type = type, .at = at, .receiver = use, .container = std::move(container)});
}

// What a path begins with, where its object is made in each run of a function, and what fills it adds to nothing that
// was there before: what a pointer leads to that is made in it ("auto episode = std::make_shared<Episode>();
// episode->states.push_back(x);"), or a member in the constructor of its class. Of no file: nothing of that kind.
TokenAt ValueFlow::object_made_here(const CppBlockAt& callable, const TokenAt& use, std::size_t first) const {
  const auto& file = *use.file;
  if (!file.token(first).is_name()) return {};
  if (file.token(first).is("this")) first += 2;
  const TokenAt at{&file, first};
  const auto object = names_.resolve(at);
  if (object.scope == Scope::member) {
    const bool is_constructed = file.is_constructor(callable.block()) &&
                                names_.are_kin(object.owner, file.class_around(callable.block().body.first)) &&
                                object.type.find("static") == std::string::npos;
    return is_constructed ? at : TokenAt{};
  }
  if (!ends_with_the_call(object, use, callable)) return {};
  auto end = object.declared.token;
  while (end < file.tokens().size() && !file.token(end).is(";")) ++end;
  return makes_object(file, {object.declared.token, end}) ? at : TokenAt{};
}

// What a caller has that it lends a function to fill. None where that ends with the caller, which is followed then.
// Where it may be one of several it stays the parameter.
std::optional<CppContainer> ValueFlow::lender_of(const CppContainer& parameter) {
  auto given = names_.given_to(parameter.declared);
  const auto is_running = [&](const CppNames::Given& one) { return running_.contains(one.caller); };
  if (std::any_of(given.begin(), given.end(), is_running)) std::erase_if(given, std::not_fn(is_running));
  std::optional<CppContainer> found;
  bool is_of_caller = false;
  for (const auto& one : given) {
    auto lent = names_.referent_of(one.last);
    if (lent.declared == parameter.declared) continue;  // a function that calls itself
    const auto& file = *one.last.file;
    if (ends_with_the_call(lent, one.last, one.caller)) {
      handed_[one.caller].insert(file.token(name_of_container(file, one.last.token)).text);
      is_of_caller = true;
      continue;
    }
    const bool is_other = found.has_value() && found->declared != lent.declared;
    if (is_other || lent.declared.file == nullptr || lent.is_lent()) return parameter;
    lent.is_item = lent.is_item || parameter.is_item;
    found = std::move(lent);
  }
  if (found.has_value() || is_of_caller) return found;
  return parameter;
}

// "entry = x" and "entry.last = x" after "auto& entry = kept[key];", "it->second = x" after "auto [it, is_new] =
// kept.try_emplace(key);". `name`: of the variable.
void ValueFlow::add_place(const CppBlockAt& callable, TokenAt name, std::set<std::string_view>& values) {
  const auto own = names_.resolve(name);
  if (own.scope != Scope::local || own.declared.file != name.file) return;
  const auto& file = *name.file;
  const auto close = CppNames::source_of(own.declared).end - 1;
  const auto open = close < name.token ? file.partner(close) : close;
  if (open == close || open < 4) return;
  const bool is_index = file.token(close).is("]") && own.is_reference();
  const bool is_emplaced = file.token(open - 1).is("try_emplace") && file.token(open - 2).is(".");
  if (!is_index && !is_emplaced) return;
  const auto at = is_index ? open : open - 1;
  const auto last = is_index ? open - 1 : open - 3;
  if (!is_associative(names_.referent_of({&file, last}), names_.project())) return;
  add_fill(CppFill::Type::entry, callable, {&file, at}, last, values);
}

// "context->saved_data["output"] = output;" in a function of autograd's, whose node has the context, and is had by its
// output.
bool ValueFlow::add_context(const CppBlockAt& callable, const CppFile& file, TokenRange statement, std::size_t mark,
                            const std::set<std::string_view>& values) {
  const auto data = file.partner(mark - 1) - 1;
  if (!file.token(data).is("saved_data") || !file.token(data - 1).is("->")) return false;
  const auto context = names_.resolve({&file, data - 2});
  if (context.type.find(kContextType) == std::string::npos) return false;
  const bool is_output = std::any_of(values.begin(), values.end(), [&](std::string_view value) {
    return mentions(file, {mark + 1, statement.end}, {value}) && is_returned_by(file, callable.block(), value);
  });
  if (is_output && !lets_go(file, {mark + 1, statement.end})) add_capture(file, {data - 2, data + 1}, kContextType);
  return true;
}

// `place`: what is given the lambda, "net->on_forward".
void ValueFlow::add_capture(const CppFile& file, TokenRange place, std::string_view type) {
  const TokenAt at{&file, place.end - 1};
  if (std::any_of(fills_.begin(), fills_.end(), [&](const CppFill& fill) { return fill.at == at; })) return;
  CppContainer container{.type = std::string(type)};
  for (auto i = place.first; i < place.end; ++i) container.name += file.token(i).text;
  fills_.push_back(
      {.type = CppFill::Type::capture, .at = at, .receiver = {&file, place.first}, .container = container});
}

// "listener->attach(trainer)": the object may hand itself on there, by shared_from_this(). `method`: its name.
void ValueFlow::follow_own(const CppFile& file, std::size_t method, const std::set<std::string_view>& values,
                           int depth) {
  constexpr std::string_view kItself = "shared_from_this";
  const auto first = begin_of_path(file, method);
  if (depth >= kMostCalls || !mentions(file, {first, first + 1}, values)) return;
  for (const auto& function : names_.project().functions(file.token(method).text)) {
    const bool does =
        names_.may_call({&file, method}, function) && mentions(*function.file, function.block().body, {kItself});
    if (does) follow(function, 0, {kItself}, depth + 1);
  }
}

// `called`: the last token of what is called.
void ValueFlow::follow_call(const CppFile& file, std::size_t called, const std::set<std::string_view>& values,
                            bool is_origin, int depth) {
  if (depth >= kMostCalls) return;
  const auto made = names_.class_made_by({&file, called});
  if (made.empty() && file.token(called).is(">")) return;
  std::vector<CppBlockAt> functions;
  for (const auto& function : names_.project().functions(made.empty() ? file.token(called).text : made)) {
    if (!made.empty() || names_.may_call({&file, called}, function)) functions.push_back(function);
  }
  if (functions.empty()) {
    functions = called_back({&file, called}, names_);
    // Of lambdas that several callers give a parameter, those of the callers on the stack; which, where a lambda begins
    // on the line of the call, may seem to be the lambda.
    const auto is_running = [&](const CppBlockAt& callback) {
      const auto around = callback.file->callable_of(callback.block().head);
      return running_.contains(callback) || running_.contains({callback.file, around});
    };
    if (std::ranges::any_of(functions, is_running)) std::erase_if(functions, std::not_fn(is_running));
  }
  if (functions.size() > kMostFunctions) return;
  const auto arguments = file.parts(arguments_of(file, called + 1), false);
  for (const auto& function : functions) {
    const auto& home = *function.file;
    const auto parameters = home.parts(function.block().parameters, true);
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < std::min(arguments.size(), parameters.size()); ++i) {
      const bool is_it = mentions(file, arguments[i], values) || (is_origin && is_computed(file, arguments[i]));
      const auto parameter = name_of_parameter(home, parameters[i]);
      if (is_it && !parameter.empty() && !is_one_number(type_of_parameter(home, parameters[i])))
        names.insert(parameter);
    }
    if (!names.empty()) follow(function, 0, names, depth + 1);
  }
}

}  // namespace stepleak
