// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/cpp_container.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "harness/sources/cpp_types.hpp"

namespace stepleak {
namespace {

using Scope = CppContainer::Scope;

// References to references, and functions that return what another one returns.
constexpr int kMostSteps = 4;

CppContainer made_of(const CppFile& file, std::size_t token, Scope scope, std::string_view owner = {}) {
  CppContainer found{.scope = scope,
                     .name = std::string(file.token(token).text),
                     .declared = {&file, token},
                     .owner = std::string(owner)};
  (void)file.is_declaration(token, &found.type);
  return found;
}

// Of a container, what gives one of the things in it; and what leads to one.
constexpr std::array<std::string_view, 4> kLeadingIn{"at", "back", "front", "top"};
constexpr std::array<std::string_view, 9> kIterators{"find",        "begin",       "end",     "rbegin", "lower_bound",
                                                     "upper_bound", "try_emplace", "emplace", "insert"};
// Functions that give what they are given.
constexpr std::array<std::string_view, 4> kSame{"move", "forward", "ref", "return"};

// The last token of the container of which an expression gives an iterator: of "kept.find(key)", and of
// "kept.try_emplace(key).first". 0: it gives none.
std::size_t leader_of_iterator(const CppFile& file, TokenRange source) {
  auto last = source.end - 1;
  if (file.token(last).is("first") && file.token(last - 1).is(".")) last -= 2;
  const auto open = file.partner(last);
  const bool is_call = file.token(last).is(")") && open < last && open > source.first + 2;
  if (!is_call || !is_one_of(file.token(open - 1).text, kIterators)) return 0;
  return file.token(open - 2).is(".") || file.token(open - 2).is("->") ? open - 3 : 0;
}

// Whether a token stands in the parameters of a function or a lambda.
bool is_parameter_of(const CppBlock& block, std::size_t token) {
  return block.is_callable() && block.parameters.contains(token);
}

}  // namespace

bool CppContainer::is_parameter() const {
  if (declared.file == nullptr) return false;
  const auto& blocks = declared.file->blocks();
  return std::any_of(blocks.begin(), blocks.end(),
                     [&](const CppBlock& block) { return is_parameter_of(block, declared.token); });
}

bool is_leading_in(std::string_view method) { return is_one_of(method, kLeadingIn); }

TokenRange CppNames::source_of(const TokenAt& declared) {
  const auto& file = *declared.file;
  auto mark = declared.token + 1;
  while (file.token(mark).is(",") && file.token(mark + 1).is_name()) mark += 2;  // of "auto& [key, queue]"
  if (file.token(mark).is("]")) ++mark;
  if (mark > declared.token + 1 && !file.token(mark - 1).is("]")) return {};
  if (!file.token(mark).is("=") && !file.token(mark).is(":")) return {};
  auto end = mark + 1;
  while (end < file.tokens().size() && !file.token(end).is(";") && !file.token(end).is(")") &&
         !file.token(end).is(",")) {
    end = std::max(end, file.partner(end)) + 1;
  }
  return {mark + 1, std::min(end, file.tokens().size())};
}

std::size_t CppNames::receiver_of(const CppFile& file, std::size_t method) {
  if (method < 2 || !(file.token(method - 1).is(".") || file.token(method - 1).is("->"))) return method;
  auto at = method - 2;
  while (true) {
    const auto& token = file.token(at);
    const auto open = file.partner(at);
    if (token.is("]") && open < at && open > 0) {
      at = open - 1;
    } else if (token.is(")") && open < at) {
      const bool is_call = open > 0 && (file.token(open - 1).is_name() || file.token(open - 1).is(">"));
      if (is_call && file.token(open - 1).is_name()) return open - 1;
      if (is_call || open + 1 >= at) return method;
      at -= 1;  // "(*kept)"
    } else {
      return token.is_name() ? at : method;
    }
  }
}

// Of the block's own, and of the parameters of the function or the loop that it is the body of.
std::vector<std::size_t> CppNames::declarations_in(const CppFile& file, std::string_view name, int block) {
  std::vector<std::size_t> found;
  const auto& tokens = file.tokens();
  auto range = TokenRange{0, tokens.size()};
  if (block >= 0) {
    range = file.block(block).body;
    const auto& head = file.block(block);
    const bool has_parameters = head.parameters.end > head.parameters.first;
    range.first = has_parameters ? head.parameters.first : std::min(head.head, range.first);
  }
  for (auto i = range.first; i < range.end; ++i) {
    if (tokens[i].text != name || !tokens[i].is_name()) continue;
    const bool is_own = file.block_of(i) == block || (block >= 0 && i < file.block(block).body.first);
    if (is_own && file.is_declaration(i)) found.push_back(i);
  }
  return found;
}

CppContainer CppNames::member(std::string_view name, std::string_view owner, const CppFile& seen_from,
                              int depth) const {
  if (owner.empty() || depth > kMostSteps) return {};
  const auto found_in = [&](const CppBlockAt& type) -> CppContainer {
    if (const auto found = declarations_in(*type.file, name, type.index); !found.empty()) {
      return made_of(*type.file, found.front(), Scope::member, owner);
    }
    for (const auto base : type.block().bases) {
      if (base == owner) continue;
      if (auto found = member(name, base, seen_from, depth + 1); found.scope != Scope::unknown) return found;
    }
    return {};
  };
  const auto& types = project_.types(owner);
  for (const auto& type : types) {
    if (type.file != &seen_from) continue;
    if (auto found = found_in(type); found.scope != Scope::unknown) return found;
  }
  for (const auto& type : types) {
    if (type.file == &seen_from || !project_.may_share_unit(*type.file, seen_from)) continue;
    if (auto found = found_in(type); found.scope != Scope::unknown) return found;
  }
  return {};
}

CppContainer CppNames::only_member(std::string_view name, const CppFile& seen_from) const {
  CppContainer only;
  std::set<CppBlockAt> asked;
  for (const auto& use : project_.uses(name)) {
    const auto index = use.file->block_of(use.token);
    if (index < 0 || use.file->block(index).type != CppBlock::Type::type) continue;
    if (!project_.may_share_unit(*use.file, seen_from) || !asked.insert({use.file, index}).second) continue;
    const auto found = declarations_in(*use.file, name, index);
    if (found.empty()) continue;
    if (only.scope != Scope::unknown) return {};
    only = made_of(*use.file, found.front(), Scope::member, use.file->block(index).name);
  }
  return only;
}

CppContainer CppNames::resolve(TokenAt name) const {
  const auto& file = *name.file;
  const auto word = file.token(name.token).text;
  CppContainer unknown{.name = std::string(word), .named_in = &file};
  const auto& before = file.token(name.token - 1);
  const auto& qualifier = file.token(name.token - 2);
  const bool is_of_this = (before.is("->") && qualifier.is("this"));
  if (before.is("::")) {
    auto found = member(word, qualifier.text, file);
    return found.scope == Scope::unknown ? unknown : found;
  }
  if ((before.is(".") || before.is("->")) && !is_of_this) {
    const auto receiver = receiver_of(file, name.token);
    const bool is_plain = receiver + 2 == name.token;
    // Of what type it is may be known: "state.kept", with "State state;".
    if (is_plain) {
      const auto object = resolve({&file, receiver});
      for (const auto& part : tokens_of(object.type)) {
        if (auto found = member(word, part.text, file); found.scope != Scope::unknown) return found;
      }
    }
    auto found = only_member(word, file);
    return found.scope == Scope::unknown ? unknown : found;
  }
  if (!is_of_this) {
    for (auto block = file.block_of(name.token); block >= -1; block = file.block(block).parent) {
      const bool is_class = block >= 0 && file.block(block).type == CppBlock::Type::type;
      if (!is_class) {
        // A later one of the same name is another one; that of a file may stand anywhere before.
        std::size_t nearest = file.tokens().size();
        for (const auto found : declarations_in(file, word, block)) {
          if (found <= name.token) nearest = found;
        }
        if (nearest < file.tokens().size()) {
          const bool is_local =
              file.callable_of(nearest) >= 0 || (block >= 0 && is_parameter_of(file.block(block), nearest));
          return made_of(file, nearest, is_local ? Scope::local : Scope::global);
        }
      }
      if (is_class || (block >= 0 && !file.block(block).owner.empty())) {
        const auto owner = is_class ? file.block(block).name : file.block(block).owner;
        if (auto found = member(word, owner, file); found.scope != Scope::unknown) return found;
      }
      if (block < 0) break;
    }
  }
  if (auto found = member(word, file.class_around(name.token), file); found.scope != Scope::unknown) return found;
  // Of another file of the project: "extern", or in a header.
  CppContainer only;
  for (const auto& use : project_.uses(word)) {
    const auto block = use.file->block_of(use.token);
    const bool is_outside = block < 0 || use.file->block(block).type == CppBlock::Type::space;
    if (!is_outside || !use.file->is_declaration(use.token)) continue;
    if (only.scope != Scope::unknown) return unknown;
    only = made_of(*use.file, use.token, Scope::global);
  }
  return only.scope == Scope::unknown ? unknown : only;
}

// What a function returns, where that is one name.
CppContainer CppNames::returned_by(TokenAt call, int depth) const {
  CppContainer only;
  for (const auto& function : project_.functions(call.file->token(call.token).text)) {
    for (const auto& statement : function.file->statements(function.block().body)) {
      if (!function.file->token(statement.first).is("return")) continue;
      auto found = referent_of({function.file, statement.end - 1}, depth + 1);
      if (found.name.empty()) return {};
      if (only.scope != Scope::unknown && (only.declared != found.declared || only.is_item != found.is_item)) return {};
      only = std::move(found);
    }
  }
  return only;
}

CppContainer CppNames::referent_of(TokenAt last, int depth) const {
  const auto& file = *last.file;
  auto at = last.token;
  bool is_item = false;
  while (at > 0) {
    const auto open = file.partner(at);
    const bool closes = open < at && open > 0;
    const bool is_method = closes && open > 2 && (file.token(open - 2).is(".") || file.token(open - 2).is("->"));
    if (closes && file.token(at).is("]")) {
      is_item = true;
      at = open - 1;
    } else if (closes && file.token(at).is(")")) {
      const auto& called = file.token(open - 1);
      if (is_method && is_leading_in(called.text) && project_.functions(called.text).empty()) {
        is_item = true;
        at = open - 3;
      } else if (called.is_name() && !is_one_of(called.text, kSame)) {
        at = open - 1;
        break;
      } else if (called.is(">") || open + 1 >= at) {
        return {};
      } else {
        at -= 1;  // "(*kept)", "std::move(kept)"
      }
    } else if (file.token(at).is("second") && (file.token(at - 1).is("->") || file.token(at - 1).is("."))) {
      auto found = referent_of({&file, at - 2}, depth + 1);
      // Of a pair that is no container's it is a member.
      return found.is_item ? found : CppContainer{};
    } else {
      break;
    }
  }
  if (!file.token(at).is_name()) return {};
  auto found = referent({&file, at}, depth);
  found.is_item = found.is_item || is_item;
  return found;
}

CppContainer CppNames::referent(TokenAt name, int depth) const {
  if (depth > kMostSteps) return {};
  if (name.file->token(name.token + 1).is("(")) return returned_by(name, depth);
  auto found = resolve(name);
  if (found.scope != Scope::local) return found;
  const auto source = source_of(found.declared);
  if (source.end <= source.first) return found;
  const auto& home = *found.declared.file;
  if (const auto leader = leader_of_iterator(home, source); leader > 0 && !found.is_reference()) {
    found = referent_of({&home, leader}, depth + 1);
    found.is_item = true;
    return found;
  }
  if (!found.is_reference()) return found;
  const bool is_loop = home.token(source.first - 1).is(":");
  for (auto i = source.first; i < source.end; ++i) {
    if (home.token(i).is("?")) return {.name = found.name, .named_in = name.file};  // one of two
  }
  auto referred = referent_of({&home, source.end - 1}, depth + 1);
  if (referred.name.empty()) return {.name = found.name, .named_in = name.file};
  referred.is_item = referred.is_item || is_loop;
  return referred;
}

std::vector<CppNames::Given> CppNames::given_to(const TokenAt& parameter) const {
  std::vector<Given> given;
  const auto& home = *parameter.file;
  for (std::size_t index = 0; index < home.blocks().size(); ++index) {
    const auto& block = home.blocks()[index];
    if (block.type != CppBlock::Type::function || !block.parameters.contains(parameter.token)) continue;
    const auto parameters = home.parts(block.parameters, true);
    const auto place =
        static_cast<std::size_t>(std::find_if(parameters.begin(), parameters.end(),
                                              [&](const TokenRange& part) { return part.contains(parameter.token); }) -
                                 parameters.begin());
    for (const auto& use : project_.uses(block.name)) {
      const auto open = use.token + 1;
      const CppBlockAt caller{use.file, use.file->callable_of(use.token)};
      if (caller.index < 0 || !use.file->token(open).is("(") || use.file->partner(open) == open) continue;
      if (use == TokenAt{&home, block.head} || !may_call(use, {&home, static_cast<int>(index)})) continue;
      const auto arguments = use.file->parts({open + 1, use.file->partner(open)}, false);
      if (place >= arguments.size() || arguments[place].end <= arguments[place].first) continue;
      given.push_back({{use.file, arguments[place].end - 1}, caller});
    }
  }
  return given;
}

std::string_view CppNames::class_made_by(const TokenAt& called) const {
  const auto& file = *called.file;
  std::string type;
  if (file.token(called.token).is(">")) {
    const auto open = file.opening_angle(called.token);
    if (open == called.token || !file.token(open - 1).text.starts_with("make_")) return {};
    type = file.token(called.token - 1).text;
  } else if (!file.is_declaration(called.token, &type)) {
    return {};
  }
  for (const auto& word : tokens_of(type)) {
    const auto& known = project_.types(word.text);
    if (word.is_name() && !known.empty()) return known.front().block().name;
  }
  return {};
}

bool CppNames::may_call(TokenAt name, const CppBlockAt& function) const {
  const auto& block = function.block();
  const auto owner = block.owner.empty() ? function.file->class_around(block.head) : block.owner;
  const auto receiver = receiver_of(*name.file, name.token);
  if (block.name == owner) return true;  // an object is made
  if (name.file->token(name.token - 1).is("::")) {
    const auto qualifier = name.file->token(name.token - 2).text;
    return project_.types(qualifier).empty() ? owner.empty() : are_kin(qualifier, owner);
  }
  if (owner.empty()) return receiver == name.token;
  if (receiver == name.token || name.file->token(receiver).is("this")) {
    const auto around = name.file->class_around(name.token);
    return around.empty() || are_kin(around, owner);
  }
  const auto object = referent({name.file, receiver});
  if (object.type.empty()) return true;
  // Of a container itself it is the library's method: "kept.size()", but "kept[i].size()" and "kept->size()".
  const bool is_item = !name.file->token(name.token - 1).is(".") || name.file->token(name.token - 2).is("]");
  if (!is_item && capacity_of(object, project_) != CppCapacity::unknown) return false;
  for (const auto& token : tokens_of(object.type)) {
    if (!token.is_name()) continue;
    // torch's TORCH_MODULE makes a holder "Net" of the class "NetImpl".
    for (const auto& type : {std::string(token.text), std::string(token.text) + "Impl"}) {
      if (!project_.types(type).empty()) return are_kin(type, owner);
    }
  }
  // A type of a library's; of a name alone, as "auto" and a template's "T", it may be any.
  return object.type.find("::") == std::string::npos;
}

bool CppNames::derives(std::string_view name, std::string_view from, int depth) const {
  for (const auto& type : project_.types(name)) {
    for (const auto base : type.block().bases) {
      if (base == from) return true;
      if (base != name && depth < kMostSteps && derives(base, from, depth + 1)) return true;
    }
  }
  return false;
}

bool CppNames::are_kin(std::string_view one, std::string_view other) const {
  return one == other || derives(one, other) || derives(other, one);
}

}  // namespace stepleak
