// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/cpp_uses.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "harness/sources/cpp_lazy.hpp"
#include "harness/sources/cpp_types.hpp"
#include "harness/sources/cpp_values.hpp"

namespace stepleak {
namespace {

using Scope = CppContainer::Scope;

constexpr std::array<std::string_view, 8> kTakingOut{"pop_back",  "pop_front", "pop",    "erase",
                                                     "remove_if", "extract",   "remove", "remove_hook"};
constexpr std::array<std::string_view, 6> kEmptying{"clear", "resize", "assign", "swap", "reset", "release"};
// What they are given loses what the container gets: "kept.splice(kept.end(), fresh)".
constexpr std::array<std::string_view, 3> kTakingOver{"splice", "splice_after", "merge"};
constexpr std::array<std::string_view, 25> kReading{
    "front",       "back",    "begin", "end",     "cbegin",   "cend",          "rbegin",
    "rend",        "crbegin", "crend", "at",      "data",     "capacity",      "top",
    "get",         "reserve", "value", "empty",   "max_size", "shrink_to_fit", "lower_bound",
    "upper_bound", "c_str",   "load",  "key_comp"};
constexpr std::array<std::string_view, 3> kAsking{"find", "count", "contains"};
// Functions that read what they are given.
constexpr std::array<std::string_view, 34> kReaders{
    "cat", "stack", "accumulate", "reduce", "size", "ssize", "empty", "begin", "end", "cbegin", "cend", "data",
    "concat", "vstack", "hstack", "max_element", "min_element", "count_if", "any_of", "all_of", "none_of", "for_each",
    "find_if", "transform", "printf", "make_pair", "copy", "backward", "save", "sizeof", "get",
    // What an algorithm puts in by these, ValueFlow follows.
    "back_inserter", "front_inserter", "inserter"};
// Methods of an optimizer that take no parameters from it.
constexpr std::array<std::string_view, 8> kOptimizing{"step",       "zero_grad", "state", "defaults",
                                                      "parameters", "size",      "save",  "add_param_group"};
constexpr std::array<std::string_view, 5> kMovers{"move", "exchange", "swap", "erase", "erase_if"};

// References to references.
constexpr std::size_t kMostNames = 50;
// Of a word that stands everywhere each place would take minutes to tell from the others.
constexpr std::size_t kMostUses = 5000;

class UseReader {
 public:
  UseReader(CppContainer container, CppFill::Type type, const CppStep& step, const CppNames& names)
      : step_(step),
        names_(names),
        is_nested_(container.is_item),
        is_sum_(type == CppFill::Type::sum),
        is_optimizer_(type == CppFill::Type::group) {
    container.is_item = false;
    known_.push_back(std::move(container));
  }

  CppUses read_all() {
    for (; at_ < known_.size() && at_ < kMostNames; ++at_) {
      // Reading one may make more of them known.
      const auto name = container().name;
      if (names_.project().uses(name).size() > kMostUses) {
        found_.escapes = true;
        continue;
      }
      for (const auto& use : names_.project().uses(name)) {
        if (may_be_it(use)) read(use);
      }
    }
    found_.escapes = found_.escapes || at_ < known_.size();
    return std::move(found_);
  }

 private:
  /// The name that is read for now: the container's own, or another one of it.
  [[nodiscard]] const CppContainer& container() const { return known_[at_]; }
  /// It stands for the whole, of which one of the things in it is filled.
  [[nodiscard]] bool is_outer() const { return is_nested_ && !container().is_item; }
  [[nodiscard]] bool is_sum() const { return is_sum_ && !is_outer(); }

  /// `name`: where it is declared, or a use of it. `is_item`: it is one of the things in the container.
  void add_name(const TokenAt& name, bool is_item) {
    auto other = names_.resolve(name);
    other.is_item = is_item;
    if (other.declared.file == nullptr) {
      found_.escapes = true;
      return;
    }
    const bool is_known = std::any_of(known_.begin(), known_.end(),
                                      [&](const CppContainer& known) { return known.declared == other.declared; });
    if (!is_known) known_.push_back(std::move(other));
  }

  // Of a container whose declaration is not known: not where the use is of one that its file cannot see.
  [[nodiscard]] bool may_mean_the_same(const TokenAt& use) const {
    const auto* declared_in = names_.resolve(use).declared.file;
    return declared_in == nullptr || container().named_in == nullptr ||
           names_.project().may_share_unit(*container().named_in, *declared_in);
  }

  [[nodiscard]] bool may_be_it(const TokenAt& use) const {
    if (container().declared.file == nullptr) return may_mean_the_same(use);
    if (use == container().declared) return false;
    // What a file that is no header declares for itself is known there alone.
    const bool is_of_file = container().scope == Scope::local || container().scope == Scope::global;
    if (is_of_file && !container().declared.file->is_header() && use.file != container().declared.file) return false;
    if (container().scope == Scope::local && use.file != container().declared.file) return false;
    const auto found = names_.resolve(use);
    if (found.declared.file == nullptr) return container().scope != Scope::local;
    return found.declared == container().declared;
  }

  void remove(const TokenAt& at, bool is_emptying) { found_.removals.push_back({at, is_emptying}); }

  void add_test(const CppFile& file, std::size_t first, std::size_t last) {
    const auto test = test_of_length(file, first, last, container().name, step_, names_);
    if (test.has_value() && (!found_.test.has_value() || found_.test->bound < 0)) found_.test = test;
  }

  // What is asked of the whole, and what of one of its items: "kept[key].clear()" is the item's.
  void read(const TokenAt& use) {
    const auto& file = *use.file;
    const auto& next = file.token(use.token + 1);
    if (next.is(".") || next.is("->")) {
      // Of an iterator, and of an entry of a map: "found->second.clear()".
      const auto member = use.token + 2;
      const bool is_entry = container().is_item && file.token(member).is("second");
      return is_entry ? read_item_at(use, member) : read_method({&file, member}, use);
    }
    if (next.is("(") && is_accessor(use)) return read_method({&file, file.partner(use.token + 1) + 2}, use);
    const auto& before = file.token(use.token - 1);
    if (next.is("[")) return read_item(use);
    if (next.is("=")) {
      if (file.is_declaration(use.token)) return;  // of another variable of this name, or of a reference
      // Its initialisation in a capture, "[kept = ...]", is another one's; and "sum = sum + x" keeps what it had.
      const bool is_kept = is_made_of_itself(use) || is_made_lazily(use, names_);
      if (!before.is("[") && !before.is(",") && !is_kept) remove(use, true);
      return;
    }
    if (next.is("+=") || next.is("<<")) return;
    const bool is_led_to = before.is("*") && next.is(")") && file.token(use.token - 2).is("(");
    if (is_led_to && file.token(use.token + 2).is(".")) return read_method({&file, use.token + 3}, use);
    if (before.is("&") || before.is("*")) return read_address(use);
    if (before.is("return")) return read_return(use, container().is_item);
    if (is_initialised(use)) return;
    if (const auto call = call_around(use); call.has_value()) {
      if (is_member_made_of_it(*call)) return add_name(call->call, container().is_item);
      return read_argument(*call, use, container().is_item);
    }
    const auto first = start_of(file, use.token);
    const auto& left = file.token(first - 1);
    if (left.is("=") || left.is(":")) return read_source({&file, first}, container().is_item);
    found_.escapes = found_.escapes || left.is("?");
  }

  // An item may be replaced. Where it is a container of its own that grows, what is done with it counts; not what is
  // done with one of the things in that.
  void read_item(const TokenAt& use) {
    if (is_outer()) read_item_at(use, use.file->partner(use.token + 1));
  }

  // `last`: of what leads to the item, "kept[key]" and "kept.back()".
  void read_item_at(const TokenAt& use, std::size_t last) {
    const auto& file = *use.file;
    const auto& after = file.token(last + 1);
    if (after.is(".") || after.is("->")) return read_method({&file, last + 2}, use);
    if (after.is("=")) return remove(use, true);
    if (after.is("[")) return;
    const auto first = start_of(file, use.token);
    const auto& left = file.token(first - 1);
    if (left.is("=") || left.is(":")) return read_source({&file, first}, true);
    if (left.is("&") && file.token(first - 2).is("=")) return read_source({&file, first - 1}, true);
    if (left.is("return")) return read_return(use, true);
    if (const auto call = call_around(file, {first, last + 1}); call.has_value()) {
      return read_argument(*call, use, true);
    }
    found_.escapes = found_.escapes || after.is(";") || after.is(")") || left.is("?");
  }

  // "A() : kept_(x)" and "kept_{}".
  [[nodiscard]] bool is_initialised(const TokenAt& use) const {
    const auto& next = use.file->token(use.token + 1);
    const auto& before = use.file->token(use.token - 1);
    return (next.is("(") || next.is("{")) && (before.is(":") || before.is(","));
  }

  [[nodiscard]] bool is_accessor(const TokenAt& use) const {
    const auto close = use.file->partner(use.token + 1);
    const auto& after = use.file->token(close + 1);
    return close > use.token + 1 && (after.is(".") || after.is("->"));
  }

  void read_method(const TokenAt& method, const TokenAt& use) {
    const auto& name = method.file->token(method.token);
    if (is_sum()) {
      // A tensor's operators give another one, but those that end so: "sum.detach_()".
      found_.escapes = found_.escapes || name.text.ends_with('_') || name.is("reset") || name.is("set_data");
      return;
    }
    if (!method.file->token(method.token + 1).is("(")) return;  // of a variable: a member of what it is
    if (is_optimizer_)
      return container().is_item ? read_group(*method.file, method.token - 1) : read_optimizer(method, use);
    if (is_memory_stream(container(), names_.project())) return read_stream(method);
    const bool is_whole = is_outer() && method.token == use.token + 2;
    if (is_whole && is_leading_in(name.text)) {
      return read_item_at(use, method.file->partner(method.token + 1));
    }
    if (is_filling(name.text)) {
      if (is_whole && name.is("insert_or_assign")) remove(method, true);  // another one takes its place
      if (name.is("try_emplace")) found_.asked.push_back(method);
    } else if (is_one_of(name.text, kTakingOut)) {
      remove(method, false);
    } else if (name.is("resize")) {
      read_resize(method, is_whole);
    } else if (is_one_of(name.text, kEmptying)) {
      remove(method, true);
    } else if (is_whole && is_iterator_of(method)) {
      return;
    } else if (is_one_of(name.text, kAsking) && !is_outer()) {
      if (is_associative(container(), names_.project())) found_.asked.push_back(method);
    } else if (is_one_of(name.text, kLengths)) {
      add_test(*method.file, use.token, method.file->partner(method.token + 1));
    } else if (!is_one_of(name.text, kReading) || (is_whole && !name.is("empty"))) {
      found_.escapes = true;
    }
  }

  // "kept.resize(0)" empties it; to another size what is in front stays, be it a container of its own that grows.
  void read_resize(const TokenAt& method, bool is_whole) {
    const auto size = arguments_of(*method.file, method.token + 1);
    const bool is_none = size.end == size.first + 1 && method.file->token(size.first).is("0");
    if (is_none || !is_whole) remove(method, is_none);
  }

  // An optimizer's groups, of which one may be taken out: "optimizer.param_groups().pop_back()".
  void read_optimizer(const TokenAt& method, const TokenAt& use) {
    const auto& file = *method.file;
    const auto& name = file.token(method.token);
    if (is_one_of(name.text, kEmptying)) return remove(method, true);  // of a pointer to it
    if (!name.is("param_groups")) {
      found_.escapes = found_.escapes || !is_one_of(name.text, kOptimizing);
      return;
    }
    const auto close = file.partner(method.token + 1);
    const auto& after = file.token(close + 1);
    const TokenAt next{&file, close + 2};
    const auto& left = file.token(start_of(file, use.token) - 1);
    if (after.is("[")) return read_group(file, file.partner(close + 1) + 1);
    if (after.is("=")) return remove(method, true);
    if (!after.is(".") && left.is(":")) return read_groups({&file, start_of(file, use.token)});
    if (!after.is(".")) {
      found_.escapes = true;
    } else if (is_leading_in(file.token(next.token).text)) {
      read_group(file, file.partner(next.token + 1) + 1);
    } else if (is_taking_out(file.token(next.token).text) || is_emptying(file.token(next.token).text)) {
      remove(next, is_emptying(file.token(next.token).text));
    } else if (is_one_of(file.token(next.token).text, kLengths)) {
      add_test(file, use.token, file.partner(next.token + 1));
    }
  }

  // "for (auto& group : optimizer.param_groups())". `first`: of what it goes through.
  void read_groups(const TokenAt& first) {
    if (!add_declared({first.file, first.token - 2}, true)) found_.escapes = true;
  }

  // The parameters of one group may be replaced: "group.params() = {weight};". `mark`: of what comes behind the group.
  void read_group(const CppFile& file, std::size_t mark) {
    if (!file.token(mark + 1).is("params") || !file.token(mark + 2).is("(")) return;
    const auto after = file.partner(mark + 2) + 1;
    const auto& method = file.token(after + 1);
    const bool is_taken = file.token(after).is(".") && (is_taking_out(method.text) || is_emptying(method.text));
    if (file.token(after).is("=") || is_taken) remove({&file, after}, false);
  }

  // What is written may be replaced, or written over; "clear()" is of its flags.
  void read_stream(const TokenAt& method) {
    const auto& file = *method.file;
    const auto& name = file.token(method.token);
    const bool is_given = file.partner(method.token + 1) > method.token + 2;
    if ((name.is("str") && is_given) || name.is("seekp") || name.is("swap") || name.is("reset")) {
      remove(method, true);
    } else if (name.is("rdbuf")) {
      found_.escapes = true;
    }
  }

  // "auto found = kept.find(key);" makes another name of an item, and "found == kept.end()" asks for it.
  bool is_iterator_of(const TokenAt& method) {
    const auto& file = *method.file;
    const auto close = file.partner(method.token + 1);
    const bool is_compared = file.token(close + 1).is("==") || file.token(close + 1).is("!=");
    const auto& word = file.token(method.token);
    if (is_compared || word.is("end") || word.is("count") || word.is("contains")) return true;
    const auto name = start_of(file, method.token) - 2;
    if (!file.token(close + 1).is(";") || !file.token(name + 1).is("=") || !file.is_declaration(name)) return false;
    if (!names_.referent({&file, name}).is_item) return false;
    add_name({&file, name}, true);
    return true;
  }

  // "&kept" is handed to somebody; "a & kept" and "a * kept" are arithmetic, and "*kept" what a pointer leads to.
  void read_address(const TokenAt& use) {
    const auto& before = use.file->token(use.token - 1);
    const auto& left = use.file->token(use.token - 2);
    const bool is_binary = left.is_name() || left.is(")") || left.is("]") || left.type == Token::Type::number;
    const bool is_capture = before.is("&") && (left.is("[") || (left.is(",") && is_in_capture(use)));
    if (before.is("*") || (is_binary && !left.is("return")) || is_capture) return;
    if (left.is("=")) return read_source({use.file, use.token - 1}, container().is_item);
    if (const auto call = call_around(use); call.has_value()) return read_argument(*call, use, container().is_item);
    found_.escapes = true;
  }

  [[nodiscard]] static bool is_in_capture(const TokenAt& use) {
    for (auto i = use.token; i > 0; --i) {
      const auto& token = use.file->token(i);
      if (token.is("[")) return !use.file->token(i - 1).is_name() && !use.file->token(i - 1).is(")");
      if (token.is(";") || token.is("{") || token.is("(")) return false;
    }
    return false;
  }

  // A copy changes nothing; neither does a reference that is constant.
  void read_return(const TokenAt& use, bool is_item) {
    const auto index = use.file->callable_of(use.token);
    if (index < 0) return;
    const auto& function = use.file->block(index);
    if (function.is_const || function.type == CppBlock::Type::lambda) return;
    const bool is_reference = use.file->token(function.head - 1).is("&") || use.file->token(function.head - 1).is("*");
    if (!is_reference) return;
    for (auto i = function.head; i > 0 && i + 12 > function.head; --i) {
      if (use.file->token(i).is("const")) return;
      if (use.file->token(i).is(";") || use.file->token(i).is("}") || use.file->token(i).is("{")) break;
    }
    // Followed by the function's name.
    for (const auto& call : names_.project().uses(function.name)) {
      const auto& file = *call.file;
      const bool is_call = file.token(call.token + 1).is("(") && call != TokenAt{use.file, function.head};
      if (!is_call || !names_.may_call(call, {use.file, index})) continue;
      const auto close = file.partner(call.token + 1);
      const auto& after = file.token(close + 1);
      const auto first = start_of(file, call.token);
      if (is_accessor(call)) {
        read_method({&file, close + 2}, call);
      } else if (after.is("=")) {
        remove(call, true);
      } else if (file.token(first - 1).is("=")) {
        read_source({&file, first}, is_item);
      } else if (!after.is("[") && !after.is("{") && !file.token(first - 1).is(":")) {
        found_.escapes = true;
      }
    }
  }

  // Where an expression like "a.b->c" begins, by its last name.
  [[nodiscard]] static std::size_t start_of(const CppFile& file, std::size_t name) {
    while (name >= 2 &&
           (file.token(name - 1).is(".") || file.token(name - 1).is("->") || file.token(name - 1).is("::"))) {
      const auto receiver = CppNames::receiver_of(file, name);
      name = receiver == name ? name - 2 : receiver;
    }
    return name;
  }

  // "explicit Trimmer(Tensors& list) : list_(list)", of a member that is a reference.
  [[nodiscard]] bool is_member_made_of_it(const auto& argument) const {
    const auto& file = *argument.call.file;
    const auto& before = file.token(argument.call.token - 1);
    if (file.callable_of(argument.call.token) >= 0 || !(before.is(":") || before.is(","))) return false;
    return names_.resolve(argument.call).is_reference();
  }

  /// An argument of a call.
  struct Argument {
    TokenAt call;           ///< the name before the parenthesis, or what closes a template's arguments
    std::size_t index = 0;  ///< counted by commas
  };

  // The call that it is an argument of, by itself: "f(x, kept)", "f(&kept)".
  [[nodiscard]] static std::optional<Argument> call_around(const TokenAt& use) {
    return call_around(*use.file, {use.token, use.token + 1});
  }

  [[nodiscard]] static std::optional<Argument> call_around(const CppFile& file, TokenRange argument) {
    const auto first = argument.first - (file.token(argument.first - 1).is("&") ? 1 : 0);
    const auto& before = file.token(first - 1);
    const auto& next = file.token(argument.end);
    const bool is_alone =
        (before.is("(") || before.is(",") || before.is("{")) && (next.is(")") || next.is(",") || next.is("}"));
    if (!is_alone) return std::nullopt;
    Argument found;
    for (auto i = first - 1; i > 0; --i) {
      const auto& token = file.token(i);
      if (token.is(")") || token.is("]") || token.is("}")) {
        i = std::min(i, file.partner(i));
        continue;
      }
      if (token.is(",")) ++found.index;
      if (token.is("[") || token.is(";")) return std::nullopt;  // a capture
      if (token.is("(") || (token.is("{") && file.token(i - 1).is_name())) {
        found.call = {&file, i - 1};
        return found;
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] static bool is_method(const TokenAt& name) {
    const auto& before = name.file->token(name.token - 1);
    return before.is(".") || before.is("->");
  }

  void read_argument(const Argument& argument, const TokenAt& use, bool is_item) {
    const auto& call = argument.call;
    const auto& name = call.file->token(call.token);
    if (is_one_of(name.text, kMovers)) {
      // "std::move(kept)" leaves nothing behind; so may a swap.
      remove(use, !name.is("erase") && !name.is("erase_if"));
    } else if (is_one_of(name.text, kTakingOver) && is_method(call)) {
      if (!is_move_within(*call.file, call.token)) remove(use, call.file->token(use.token + 1).is(")"));
    } else if (is_one_of(name.text, kLengths)) {
      add_test(*call.file, call.token, call.file->partner(call.token + 1));
    } else if (name.is("if") || name.is("while") || name.is("for") || name.is("return") || name.is("switch")) {
      return;
    } else if (!is_sum() && !is_one_of(name.text, kReaders)) {
      found_.escapes = !is_handed_on(argument, is_item) || found_.escapes;
    }
  }

  // Whether what a function of the project's, or a constructor, does with an argument can be read.
  bool is_handed_on(const Argument& argument, bool is_item) {
    const auto& file = *argument.call.file;
    const auto name = argument.call.token;
    std::string type;
    const bool is_declaration = file.is_declaration(name, &type);
    // A schedule of its rate.
    if (is_declaration && is_optimizer_ && type.find("optim::") != std::string::npos) return true;
    const auto made = names_.class_made_by(argument.call);
    if (made.empty() && (is_declaration || file.token(name).is(">"))) return false;
    const auto word = made.empty() ? file.token(name).text : made;
    bool is_any = false;
    for (const auto& function : names_.project().functions(word)) {
      if (made.empty() && !names_.may_call(argument.call, function)) continue;
      if (!add_parameter(function, argument.index, is_item)) return false;
      is_any = true;
    }
    return is_any;
  }

  // A parameter is another name of it where it is no copy, and not constant.
  bool add_parameter(const CppBlockAt& function, std::size_t index, bool is_item) {
    const auto& file = *function.file;
    const auto parameters = file.parts(function.block().parameters, true);
    if (index >= parameters.size()) return false;
    for (auto i = parameters[index].first; i < parameters[index].end; ++i) {
      if (add_declared({&file, i}, is_item)) return true;
    }
    return false;
  }

  // Whether a token declares a name; one through which it may be changed is another name of it.
  bool add_declared(const TokenAt& name, bool is_item) {
    std::string type;
    if (!name.file->is_declaration(name.token, &type)) return false;
    const bool is_other = type.find('&') != std::string::npos || type.find('*') != std::string::npos;
    if (is_other && type.find("const") == std::string::npos) add_name(name, is_item);
    return true;
  }

  [[nodiscard]] static bool is_of_loop(const CppFile& file, std::size_t colon) {
    auto open = colon;
    while (open > 0 && !(file.token(open).is("(") && file.partner(open) > colon) && !file.token(open).is(";")) --open;
    return file.token(open).is("(") && file.token(open - 1).is("for");
  }

  // "auto copy = kept" and "for (auto item : kept)" read it; "auto& same = kept" is another name of it, and
  // "for (auto& item : kept)" of what is in it. `first`: where the expression begins.
  void read_source(const TokenAt& first, bool is_item) {
    const auto& file = *first.file;
    const bool is_loop = file.token(first.token - 1).is(":");
    if (is_loop && !is_of_loop(file, first.token - 1)) {
      found_.escapes = true;  // one of two
      return;
    }
    if (is_loop && (!is_nested_ || is_item)) return;
    const auto last = first.token - 2;
    if (file.token(last).is("]")) {
      bool is_any = false;
      for (auto i = file.partner(last); i < last; ++i) is_any = add_declared({&file, i}, true) || is_any;
      if (is_any) return;
    }
    if (add_declared({&file, last}, is_item || is_loop)) return;
    for (auto i = first.token - 1; i > 0; --i) {
      const auto& token = file.token(i);
      if (token.is(";") || token.is("{") || token.is("}") || token.is("(") || token.is("const")) return;
      if (token.is("&") || token.is("&&") || token.is("*")) {
        found_.escapes = true;
        return;
      }
    }
  }

  const CppStep& step_;
  const CppNames& names_;
  bool is_nested_;
  bool is_sum_;
  bool is_optimizer_;
  std::vector<CppContainer> known_;
  std::size_t at_ = 0;
  CppUses found_;
};

}  // namespace

bool is_taking_out(std::string_view method) { return is_one_of(method, kTakingOut); }

bool is_emptying(std::string_view method) { return is_one_of(method, kEmptying); }

bool is_moving(std::string_view function) { return is_one_of(function, kMovers); }

CppUses uses_of(const CppContainer& container, CppFill::Type type, const CppStep& step, const CppNames& names) {
  return UseReader(container, type, step, names).read_all();
}

}  // namespace stepleak
