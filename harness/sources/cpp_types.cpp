// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/cpp_types.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace stepleak {
namespace {

constexpr std::array<std::string_view, 23> kGrowing{"vector",
                                                    "stringstream",
                                                    "ostringstream",
                                                    "deque",
                                                    "list",
                                                    "forward_list",
                                                    "map",
                                                    "set",
                                                    "multimap",
                                                    "queue",
                                                    "multiset",
                                                    "stack",
                                                    "priority_queue",
                                                    "string",
                                                    "basic_string",
                                                    "List",
                                                    "Dict",
                                                    "unordered_map",
                                                    "unordered_set",
                                                    "unordered_multimap",
                                                    "unordered_multiset",
                                                    "SmallVector",
                                                    "OrderedDict"};
constexpr std::array<std::string_view, 5> kFixed{"circular_buffer", "static_vector", "inplace_vector", "array",
                                                 "bitset"};

constexpr std::array<std::string_view, 18> kNumbers{
    "float",   "double",  "int",      "long",     "bool",    "char",     "short",  "unsigned", "size_t",
    "int64_t", "int32_t", "uint64_t", "uint32_t", "int16_t", "uint16_t", "int8_t", "uint8_t",  "ptrdiff_t"};
constexpr std::array<std::string_view, 7> kWords{"std", "const", "static", "thread_local", "inline", "mutable", "pair"};

// Names of names.
constexpr int kMostAliases = 4;
// Types of members, items and names.
constexpr int kMostNested = 4;

constexpr std::array<std::string_view, 8> kAssociative{"map",           "set",      "unordered_map", "multimap",
                                                       "unordered_set", "multiset", "Dict",          "OrderedDict"};
constexpr std::array<std::string_view, 6> kSequences{"vector",      "array",           "deque",
                                                     "SmallVector", "circular_buffer", "static_vector"};

// The first word of a type that is known: the outermost of "std::array<std::vector<int>, 4>". None of a class of the
// project's: what "Cache<std::string, at::Tensor>" has, its own methods say.
std::string word_of(const std::string& type, const CppProject& project, int depth) {
  const auto words = tokens_of(type);
  for (const auto& word : words) {
    if (is_one_of(word.text, kFixed) || is_one_of(word.text, kGrowing)) return std::string(word.text);
    if (word.is_name() && !project.types(word.text).empty()) return {};
  }
  for (const auto& word : words) {
    if (!word.is_name() || depth == kMostAliases) continue;
    if (const auto meaning = meaning_of(word.text, project); !meaning.empty()) {
      return word_of(meaning, project, depth + 1);
    }
  }
  return {};
}

// The type of what a container of a type holds: "std::vector<int>" of "std::map<int, std::vector<int>>". Empty where
// that is not known.
std::string item_type_of(const std::string& type, const CppProject& project, int depth = 0) {
  const auto words = tokens_of(type);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!is_one_of(words[i].text, kFixed) && !is_one_of(words[i].text, kGrowing)) continue;
    const bool is_of_keys = words[i].text.ends_with("map") || words[i].text.ends_with("Dict");
    std::vector<std::string> arguments{""};
    int angles = 0;
    for (auto part = i + 1; part < words.size(); ++part) {
      angles += words[part].is("<") ? 1 : words[part].is(">") ? -1 : 0;
      if (angles == 0) break;
      if (angles == 1 && words[part].is(",")) {
        arguments.emplace_back();
      } else if (part > i + 1) {
        arguments.back() += std::string(words[part].text) + " ";
      }
    }
    const std::size_t index = is_of_keys ? 1 : 0;
    return index < arguments.size() ? arguments[index] : "";
  }
  for (const auto& word : words) {
    if (!word.is_name() || depth == kMostAliases) continue;
    if (const auto meaning = meaning_of(word.text, project); !meaning.empty()) {
      return item_type_of(meaning, project, depth + 1);
    }
  }
  return {};
}

// Its declared type, and where that is `auto`, what it is initialised with.
std::string type_of(const CppContainer& container, const CppProject& project) {
  auto type = container.type;
  if (const auto& at = container.declared; at.file != nullptr && type.find("auto") != std::string::npos) {
    for (auto i = at.token; i < at.file->tokens().size() && !at.file->token(i).is(";"); ++i) {
      type += " " + std::string(at.file->token(i).text);
    }
  }
  return container.is_item ? item_type_of(type, project) : type;
}

std::string word_of(const CppContainer& container, const CppProject& project) {
  return word_of(type_of(container, project), project, 0);
}

bool is_enum(std::string_view name, const CppProject& project) {
  const auto& uses = project.uses(name);
  return std::any_of(uses.begin(), uses.end(), [](const TokenAt& use) {
    const auto& before = use.file->token(use.token - 1);
    const bool has_scope = before.is("class") || before.is("struct");
    return use.file->token(use.token - (has_scope ? 2 : 1)).is("enum");
  });
}

bool is_plain(const std::string& type, const CppProject& project, int depth);

// Whether all that a struct's objects have stands in them. What it derives from is not read, and what needs a
// destructor has more.
bool is_plain_struct(const CppBlockAt& type, const CppProject& project, int depth) {
  const auto& file = *type.file;
  const auto& block = type.block();
  if (!block.bases.empty()) return false;
  std::string member;
  for (auto i = block.body.first; i < block.body.end; ++i) {
    if (file.block_of(i) != type.index) continue;
    if (file.token(i).is("~")) return false;
    const bool is_parameter = file.token(i + 1).is("(") || !file.is_declaration(i, &member);
    if (!is_parameter && !is_plain(member, project, depth)) return false;
  }
  return true;
}

// A number, an enumerator, an array or a struct of such: with no memory but its own, so that another one in its place
// needs none. A pointer may own what it leads to.
bool is_plain(const std::string& type, const CppProject& project, int depth) {
  if (depth > kMostNested || type.find('*') != std::string::npos) return false;
  bool is_any = false;
  for (const auto& word : tokens_of(type)) {
    if (!word.is_name() || is_one_of(word.text, kWords)) continue;
    is_any = true;
    if (word.is("array")) return is_plain(item_type_of(type, project), project, depth + 1);
    if (is_one_of(word.text, kNumbers) || is_enum(word.text, project)) continue;
    if (const auto meaning = meaning_of(word.text, project); !meaning.empty()) {
      if (!is_plain(meaning, project, depth + 1)) return false;
      continue;
    }
    const auto& types = project.types(word.text);
    const bool is_plain_type = !types.empty() && std::all_of(types.begin(), types.end(), [&](const CppBlockAt& known) {
      return is_plain_struct(known, project, depth + 1);
    });
    if (!is_plain_type) return false;
  }
  return is_any;
}

}  // namespace

std::string meaning_of(std::string_view name, const CppProject& project) {
  for (const auto& [file, token] : project.uses(name)) {
    std::string meaning;
    if (file->token(token - 1).is("using") && file->token(token + 1).is("=")) {
      for (auto i = token + 2; i < file->tokens().size() && !file->token(i).is(";"); ++i) {
        meaning += std::string(file->token(i).text) + " ";
      }
      return meaning;
    }
    if (!file->token(token + 1).is(";")) continue;
    auto first = token;
    while (first > 0 && !file->token(first - 1).is(";") && !file->token(first - 1).is("}")) --first;
    if (!file->token(first).is("typedef")) continue;
    for (auto i = first + 1; i < token; ++i) meaning += std::string(file->token(i).text) + " ";
    return meaning;
  }
  return {};
}

CppCapacity capacity_of(const CppContainer& container, const CppProject& project) {
  const auto word = word_of(container, project);
  if (word.empty()) return CppCapacity::unknown;
  return is_one_of(std::string_view(word), kFixed) ? CppCapacity::fixed : CppCapacity::growing;
}

bool is_associative(const CppContainer& container, const CppProject& project) {
  return is_one_of(std::string_view(word_of(container, project)), kAssociative);
}

bool holds_numbers(const CppContainer& container) {
  bool is_number = false;
  for (const auto& word : tokens_of(container.type)) {
    if (!word.is_name()) continue;
    is_number = is_one_of(word.text, kNumbers);
    const bool is_known =
        is_number || is_one_of(word.text, kGrowing) || is_one_of(word.text, kFixed) || is_one_of(word.text, kWords);
    if (!is_known) return false;
  }
  return is_number;
}

bool holds_plain_items(const CppContainer& container, const CppProject& project) {
  const auto& at = container.declared;
  // Of "std::vector<float> rows[64]" the items are vectors.
  const bool is_c_array = at.file != nullptr && !container.is_item && at.file->token(at.token + 1).is("[");
  return !is_c_array && is_plain(item_type_of(type_of(container, project), project), project, 0);
}

bool is_memory_stream(const CppContainer& container, const CppProject& project) {
  return word_of(container, project).ends_with("stringstream");
}

bool is_sequence(const CppContainer& container, const CppProject& project) {
  return is_one_of(std::string_view(word_of(container, project)), kSequences);
}

}  // namespace stepleak
