// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/cpp_structure.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/sources/cpp_counts.hpp"
#include "harness/sources/cpp_guards.hpp"
#include "harness/sources/cpp_latches.hpp"
#include "harness/sources/cpp_numbers.hpp"
#include "harness/sources/cpp_partners.hpp"
#include "harness/sources/cpp_types.hpp"
#include "harness/sources/cpp_uses.hpp"
#include "harness/sources/cpp_values.hpp"
#include "harness/sources/value_flow.hpp"

namespace stepleak {
namespace {

// Of an object in an object.
constexpr int kMostOwners = 3;
// Between a type's name and that of a variable: "std::variant<std::monostate, Filling, Using> state".
constexpr std::size_t kMostWords = 16;
constexpr std::array<std::string_view, 6> kTypeEnds{";", "{", "}", "(", ")", "="};

/// All that the sources do with one container.
class Reader {
 public:
  Reader(const CppContainer& container, const CppStep& step, const CppNames& names, std::optional<TokenAt> passed)
      : container_(container), step_(step), names_(names), passed_(passed) {}

  Structure structure(const CppFill& fill) {
    // Who lets go of the lambda ends the cycle, and may be anybody.
    if (fill.type == CppFill::Type::capture) return {.type = StructureType::unknown};
    const bool is_growing = fill.type == CppFill::Type::sum || fill.type == CppFill::Type::group;
    const auto capacity = is_growing ? CppCapacity::growing : capacity_of(container_, names_.project());
    if (fill.type == CppFill::Type::slot || capacity == CppCapacity::fixed) return slots(fill);
    auto uses = uses_of(container_, fill.type, step_, names_);
    if (uses.test.has_value() && is_shut_off(uses.test->at, step_, names_)) uses.test.reset();
    for (const auto& removal : uses.removals) add_removal(removal.at, removal.is_emptying);
    if (container_.scope == CppContainer::Scope::member) read_owner_of(fill);
    if (uses.test.has_value()) {
      const bool is_for_one_more = uses.test->is_equal && uses.test->bound < 0 && !removal_.has_value();
      // Where a bound is no number that is known, only time could tell that nothing comes by any more.
      const bool may_end = uses.test->bound < 0 && guard_of(begin_of_test(uses.test->at), step_, names_).has_value();
      if (is_for_one_more || may_end) return made(StructureType::conditional, removal_.value_or(uses.test->at));
      return made(StructureType::bounded, removal_.value_or(uses.test->at), uses.test->bound);
    }
    if (removal_.has_value() && removals_ == 1 && !unreached_.has_value()) {
      const auto test = test_of_partner(fill, uses, step_, names_);
      if (test.has_value()) return made(StructureType::bounded, *removal_, test->bound);
    }
    if (removal_.has_value()) {
      return made(is_removal_emptying_ ? StructureType::reset : StructureType::conditional, *removal_);
    }
    if (unreached_.has_value()) return made(StructureType::uncalled, *unreached_);
    const bool has_keys = fill.type == CppFill::Type::entry && is_associative(container_, names_.project());
    const bool is_new = has_keys && is_new_each_time(fill);
    if ((has_keys || !uses.asked.empty()) && !is_new) return made(StructureType::keyed, asked_before(fill, uses.asked));
    if (const auto search = searched_before(fill); search.has_value()) return made(StructureType::conditional, *search);
    const auto guard = guard_of(fill.at, step_, names_);
    if (guard.has_value() && guard != passed_) return made(StructureType::conditional, *guard);
    const auto& project = names_.project();
    const bool is_known = project.is_whole() && !container_.is_lent() && container_.declared.file != nullptr &&
                          !uses.escapes && capacity == CppCapacity::growing && !project.is_in_macro(container_.name);
    return {.type = is_known ? StructureType::unbounded : StructureType::unknown};
  }

 private:
  static Structure made(StructureType type, const TokenAt& at, std::int64_t bound = -1) {
    const auto line = at.file->token(at.token).line;
    return {.type = type, .bound = bound, .file = at.file->path(), .line = line, .text = at.file->line_text(line)};
  }

  // The "if" or "while" of a test.
  [[nodiscard]] static TokenAt begin_of_test(const TokenAt& test) {
    const auto& file = *test.file;
    for (auto i = test.token; i > 0 && !file.token(i).is(";") && !file.token(i).is("{") && !file.token(i).is("}");
         --i) {
      if (file.token(i).is("if") || file.token(i).is("while")) return {&file, i};
    }
    return test;
  }

  // The look-up in the function of a fill, which is for what is not there; that of another one may only read.
  [[nodiscard]] static TokenAt asked_before(const CppFill& fill, const std::vector<TokenAt>& asked) {
    const auto callable = fill.at.file->callable_of(fill.at.token);
    const auto found = std::ranges::find_if(asked, [&](const TokenAt& at) {
      return at.file == fill.at.file && at.file->callable_of(at.token) == callable;
    });
    return found == asked.end() ? fill.at : *found;
  }

  // "for (auto& slot : slots_) if (slot.is_free) return slot;" before a fill, as a pool has it: another one is put in
  // where none of those that are there will do.
  [[nodiscard]] std::optional<TokenAt> searched_before(const CppFill& fill) const {
    const auto& file = *fill.at.file;
    const auto callable = file.callable_of(fill.at.token);
    if (callable < 0) return std::nullopt;
    for (auto i = file.block(callable).body.first; i < fill.at.token; ++i) {
      if (!file.token(i).is("for") || file.callable_of(i) != callable) continue;
      const TokenRange rounds{i + 2, file.partner(i + 1)};
      const auto body = file.extent_of(rounds.end + 1);
      if (body.end <= fill.at.token && names_it(file, rounds) && has_word(file, body, "return"))
        return TokenAt{&file, i};
    }
    return std::nullopt;
  }

  [[nodiscard]] bool names_it(const CppFile& file, TokenRange range) const {
    for (auto i = range.first; i < range.end; ++i) {
      const bool is_named = file.token(i).is(container_.name);
      if (is_named && names_.resolve({&file, i}).declared == container_.declared) return true;
    }
    return false;
  }

  [[nodiscard]] static bool has_word(const CppFile& file, TokenRange range, std::string_view word) {
    for (auto i = range.first; i < range.end; ++i) {
      if (file.token(i).is(word)) return true;
    }
    return false;
  }

  // Whether it gets a key that never comes again. One of several parts does where one of these does.
  [[nodiscard]] bool is_new_each_time(const CppFill& fill) const {
    const auto& file = *fill.at.file;
    const bool is_index = file.token(fill.at.token).is("[");
    const auto open = is_index ? fill.at.token : fill.at.token + 1;
    auto key = file.parts({open + 1, file.partner(open)}, false).front();
    // "insert({key, x})"
    if (!is_index && file.token(key.first).is("{")) key = file.parts({key.first + 1, key.end - 1}, false).front();
    auto parts = std::vector<TokenRange>{key};
    const auto& word = file.token(key.first);
    const auto brace = word.is("std") ? key.first + 3 : key.first;
    const bool is_made = file.token(brace - 1).is("make_pair") || file.token(brace - 1).is("make_tuple");
    if (word.is("{") || (brace > key.first && is_made)) parts = file.parts({brace + 1, file.partner(brace)}, false);
    return std::any_of(parts.begin(), parts.end(),
                       [&](const TokenRange& part) { return is_counted(file, part, step_, names_); });
  }

  // Where the object whose member it is is replaced or dropped, the container goes with it: "episode = Episode()",
  // "session_.reset()", "sessions.erase(id)". So it does with the object that has that one.
  void read_owner_of(const CppFill& fill) {
    const auto& file = *fill.receiver.file;
    const auto object = CppNames::receiver_of(file, fill.receiver.token);
    if (object == fill.receiver.token || file.token(object).is("this")) return read_owners(container_.owner);
    const auto found = names_.referent({&file, object});
    if (found.declared.file == nullptr) return read_owners(container_.owner);
    read_object(found, found.type.find('<') != std::string::npos || found.type.find("auto") != std::string::npos);
    read_owners(found.owner);
    // Which object a function is handed, nothing says here: "std::visit([&](auto& mode) { run(mode, x); }, mode_)".
    if (found.type.find('&') != std::string::npos || found.type.find('*') != std::string::npos) {
      read_owners(container_.owner);
    }
  }

  // Not of a variable of another function than those that run the step, or that it runs.
  [[nodiscard]] bool may_be_of_step(const CppContainer& object) const {
    if (object.scope != CppContainer::Scope::local || step_.contains(object.declared)) return true;
    const auto callable = object.declared.file->callable_of(object.declared.token);
    return callable >= 0 &&
           (step_.loops.contains({object.declared.file, callable}) || step_.is_in(*object.declared.file, callable));
  }

  void read_object(const CppContainer& object, bool is_wrapped) {
    for (const auto& use : names_.project().uses(object.name)) {
      if (use != object.declared && names_.resolve(use).declared == object.declared)
        read_owner(use, object, is_wrapped);
    }
  }

  // An owner that was read before, at the same depth or above, has nothing new to say.
  void read_owners(std::string_view owner, int depth = 0, bool is_wrapped = false) {
    if (owner.empty() || depth > kMostOwners) return;
    const auto [read, is_new] = owners_read_.try_emplace(std::string(owner), depth);
    if (!is_new && read->second <= depth) return;
    read->second = depth;
    for (const auto& use : names_.project().uses(owner)) {
      const auto& file = *use.file;
      std::string type;
      if (const auto alias = alias_of(file, use.token); !alias.empty()) {
        read_owners(alias, depth + 1, true);
        continue;
      }
      const auto name = object_of(file, use.token, type);
      if (name == use.token) continue;
      const auto object = names_.resolve({&file, name});
      if (object.declared.file == nullptr || !may_be_of_step(object)) continue;
      read_object(object, is_wrapped || type.find('<') != std::string::npos);
      if (object.owner != owner) read_owners(object.owner, depth + 1);
    }
  }

  // The name of a type that is made of another one: "using Mode = std::variant<Filling, Using>". Empty elsewhere.
  [[nodiscard]] static std::string_view alias_of(const CppFile& file, std::size_t token) {
    auto i = token;
    while (i > 0 && !file.token(i).is(";") && !file.token(i).is("{") && !file.token(i).is("}") &&
           !file.token(i).is("=")) {
      --i;
    }
    const bool is_alias = i > 1 && file.token(i).is("=") && file.token(i - 2).is("using");
    return is_alias ? std::string_view(file.token(i - 1).text) : std::string_view();
  }

  // "state = State{state.hidden.detach(), state.cell}": what one had, the next one has.
  [[nodiscard]] bool carries_over(const TokenAt& replaced) const {
    const auto& file = *replaced.file;
    for (auto i = replaced.token + 2; !file.token(i).is(";") && i < file.tokens().size(); ++i) {
      const bool is_member = file.token(i - 1).is(".") || file.token(i - 1).is("->");
      const bool is_detached = file.token(i + 1).is(".") && file.token(i + 2).is("detach");
      if (is_member && !is_detached && file.token(i).is(container_.name)) return true;
    }
    return false;
  }

  // The variable that is of a type, or of one with it, as a word of that stands in its declaration: "Session session",
  // "std::map<int, Session> sessions", "auto session = std::make_unique<Session>()". The token itself: there is none.
  [[nodiscard]] static std::size_t object_of(const CppFile& file, std::size_t owner, std::string& type) {
    const auto word = file.token(owner).text;
    for (auto name = owner + 1; name < owner + kMostWords && !is_one_of(file.token(name).text, kTypeEnds); ++name) {
      if (file.is_declaration(name, &type) && type.find(word) != std::string::npos) return name;
    }
    for (auto i = owner; i > 2 && !file.token(i).is(";") && !file.token(i).is("{") && !file.token(i).is("}"); --i) {
      if (!file.token(i).is("=") || !file.is_declaration(i - 1, &type)) continue;
      type += "<";  // what is made of it may be a pointer to it
      return i - 1;
    }
    return owner;
  }

  void read_owner(const TokenAt& use, const CppContainer& object, bool is_wrapped) {
    const auto& file = *use.file;
    const auto& next = file.token(use.token + 1);
    const auto& method = file.token(use.token + 2);
    const bool is_made_anew = method.is("emplace") && object.type.find("optional<") != std::string::npos;
    const bool is_dropping = next.is(".") && is_wrapped && file.token(use.token + 3).is("(") &&
                             (is_emptying(method.text) || is_taking_out(method.text) || is_made_anew);
    const bool is_moved =
        file.token(use.token - 1).is("(") && is_moving(file.token(use.token - 2).text) && !is_put_away(use, object);
    // One of many such objects goes now and then: "while (window.size() > most) window.pop_front()".
    const bool is_one_of_many = is_dropping && is_taking_out(method.text);
    const bool is_replaced = next.is("=") && !is_of_new_object(use) && !carries_over(use);
    if (is_replaced || is_dropping || is_moved) add_removal(use, !is_one_of_many);
  }

  // "children.push_back(std::move(child))" of what its function has made: it lives on there, and is not filled anew.
  [[nodiscard]] static bool is_put_away(const TokenAt& moved, const CppContainer& object) {
    if (object.scope != CppContainer::Scope::local) return false;
    const auto& file = *moved.file;
    auto open = moved.token - 2;
    while (open > 0 && !file.token(open).is(";") &&
           !(file.token(open).is("(") && file.partner(open) > moved.token + 1)) {
      --open;
    }
    return file.token(open).is("(") && is_filling(file.token(open - 1).text);
  }

  // "child->parent = parent" of what its function has made: a member that had nothing.
  [[nodiscard]] bool is_of_new_object(const TokenAt& member) const {
    const auto& file = *member.file;
    const auto first = begin_of_path(file, member.token);
    if (first == member.token) return false;
    const auto object = names_.resolve({&file, first});
    const bool is_own = object.scope == CppContainer::Scope::local && object.declared.file == &file &&
                        file.callable_of(object.declared.token) == file.callable_of(member.token);
    return is_own && makes_object(file, CppNames::source_of(object.declared));
  }

  // What is put into a place of a vector takes that of what was there. How many there are, its declaration may say.
  [[nodiscard]] Structure slots(const CppFill& fill) const {
    std::int64_t bound = -1;
    if (const auto& at = container_.declared; at.file != nullptr && !container_.is_item) {
      // "ring(300)", "ring{kSize}"; or "std::array<at::Tensor, 300> ring".
      const auto& next = at.file->token(at.token + 1);
      if (next.is("(") || next.is("{")) bound = value_of(names_, {at.file, at.token + 2});
      const bool is_array = container_.type.find("array<") != std::string::npos;
      if (is_array && at.file->token(at.token - 1).is(">")) bound = value_of(names_, {at.file, at.token - 2});
    }
    return made(StructureType::bounded, fill.at, bound);
  }

  // What runs only where the object, its fixture or the program begins or ends frees nothing between.
  [[nodiscard]] static bool is_at_an_end(const CppFile& file, const CppBlock& function) {
    return file.is_constructor(function) || function.name == "~" || function.name.starts_with("TearDown") ||
           function.name.starts_with("SetUp");
  }

  // Whether it stands in a class of which the object is none: another one that derives from the container's.
  [[nodiscard]] bool is_of_sibling(const TokenAt& at) const {
    const auto around = at.file->class_around(at.token);
    if (container_.owner.empty() || around.empty()) return false;
    bool is_of_another = false;
    for (const auto& root : step_.roots) {
      const auto own = root.file->class_around(root.block().body.first);
      if (own.empty() || !names_.are_kin(own, container_.owner)) continue;
      if (names_.are_kin(own, around)) return false;
      is_of_another = true;
    }
    return is_of_another && names_.are_kin(around, container_.owner);
  }

  void add_removal(const TokenAt& at, bool is_emptying) {
    const auto index = at.file->callable_of(at.token);
    if (is_of_sibling(at)) return;
    if (index >= 0 && is_at_an_end(*at.file, at.file->block(index))) return;
    if (index >= 0 && (!step_.contains(at) || is_shut_off(at, step_, names_))) {
      if (!unreached_.has_value()) unreached_ = at;
      return;
    }
    ++removals_;
    // What takes single items out may go on for ever; what empties it comes to pass at an end.
    if (removal_.has_value() && (is_removal_emptying_ || !is_emptying)) return;
    removal_ = at;
    is_removal_emptying_ = is_emptying;
  }

  const CppContainer& container_;
  const CppStep& step_;
  const CppNames& names_;
  std::optional<TokenAt> passed_;
  std::optional<TokenAt> removal_;
  std::optional<TokenAt> unreached_;
  bool is_removal_emptying_ = false;
  int removals_ = 0;
  std::map<std::string, int> owners_read_;  // at what depth
};

}  // namespace

Structure structure_of(const CppFill& fill, const CppStep& step, const CppNames& names,
                       const std::optional<TokenAt>& passed) {
  return Reader(fill.container, step, names, passed).structure(fill);
}

}  // namespace stepleak
