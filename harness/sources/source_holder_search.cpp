// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/sources/source_holder_search.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/sources/cpp_gradients.hpp"
#include "harness/sources/cpp_guards.hpp"
#include "harness/sources/cpp_reach.hpp"
#include "harness/sources/cpp_structure.hpp"
#include "harness/sources/cpp_types.hpp"
#include "harness/sources/cpp_uses.hpp"
#include "harness/sources/cpp_values.hpp"
#include "harness/trace/frames.hpp"

namespace stepleak {
namespace {

struct Kept {
  CppFill fill;
  Structure structure;
};

// Stacks of what may be kept by a container: not of raw CUDA objects, whose owners have no type that says so.
std::set<int> stacks_of(const Recording& recording) {
  std::set<int> stacks;
  for (const auto& survivor : recording.survivors) {
    if (survivor.stack >= 0 && survivor.type != SurvivorType::handle) stacks.insert(survivor.stack);
  }
  return stacks;
}

const std::vector<Frame>& stack_at(const Recording& recording, int index) {
  return recording.stacks[static_cast<std::size_t>(index)];
}

std::vector<std::string> user_files(const Recording& recording, const std::set<int>& stacks) {
  std::set<std::string> files;
  for (const auto stack : stacks) {
    for (const auto& frame : stack_at(recording, stack)) {
      if (frame.owner == FrameOwner::user) files.insert(frame.file);
    }
  }
  return {files.begin(), files.end()};
}

// Of a step in Python alone, what is linked says nothing.
CppProject project_of(const std::vector<std::string>& files) {
  const bool is_compiled = std::any_of(files.begin(), files.end(), is_unit_of_cpp);
  return CppProject(files, {}, is_compiled ? linked_sources() : SourceNames());
}

// As a C++ programmer writes it.
std::string name_of(const CppContainer& container) {
  switch (container.scope) {
    case CppContainer::Scope::member:
      return container.owner + "::" + container.name;
    case CppContainer::Scope::local:
      return "local " + container.name;
    case CppContainer::Scope::global:
    case CppContainer::Scope::unknown:
      break;
  }
  return container.name;
}

bool is_one_tensor(const CppContainer& container) {
  const auto& type = container.type;
  return type == "auto" || (type.ends_with("Tensor") && type.find('<') == std::string::npos);
}

// What is the least certain to go on for ever decides: a value may be put into several. A lambda that holds what it is
// given to speaks where nothing else keeps that.
const Kept& deciding(const std::vector<Kept>& kept) {
  const auto is_container = [](const Kept& one) { return one.fill.type != CppFill::Type::capture; };
  const auto found = std::find_if(kept.begin(), kept.end(),
                                  [&](const Kept& one) { return is_container(one) && !never_ends(one.structure); });
  if (found != kept.end()) return *found;
  const auto first = std::find_if(kept.begin(), kept.end(), is_container);
  return first == kept.end() ? kept.front() : *first;
}

class Search {
 public:
  explicit Search(Recording& recording)
      : recording_(recording),
        stacks_(stacks_of(recording)),
        project_(project_of(user_files(recording, stacks_))),
        names_(project_),
        flow_(names_) {}

  void run() {
    // Captures differ by step even where the place is the same: of each place one speaks for all.
    std::map<std::string, int> first_at;
    std::map<int, int> same_place;
    for (const auto stack : stacks_) {
      same_place[stack] = first_at.try_emplace(place_of(stack_at(recording_, stack)), stack).first->second;
    }
    for (const auto& survivor : recording_.survivors) {
      const auto first = same_place.find(survivor.stack);
      if (first == same_place.end() || survivor.type == SurvivorType::heap) continue;
      making_tensors_.insert(first->second);
      if (survivor.has_graph || survivor.type == SurvivorType::node) making_graphs_.insert(first->second);
    }
    std::set<CppBlockAt> seen;
    std::map<CppBlockAt, std::set<int>> roots;
    for (const auto& [place, stack] : first_at) {
      const auto places = flow_.places_of(stack_at(recording_, stack));
      for (const auto& place : places) seen.insert(place.callable);
      if (!places.empty()) roots[places.back().callable].insert(places.back().line);
    }
    step_ = step_from(roots, seen, names_);
    std::map<int, int> holder_of;
    for (const auto& [stack, first] : same_place) {
      holder_of[stack] = stack == first ? search_holder(stack) : holder_of.at(first);
    }
    std::map<int, std::set<std::int64_t>> steps;
    for (auto& survivor : recording_.survivors) {
      const auto found = holder_of.find(survivor.stack);
      if (found == holder_of.end() || found->second < 0) continue;
      survivor.holder = found->second;
      steps[survivor.holder].insert(survivor.birth_step);
      if (survivor.type == SurvivorType::heap) {
        recording_.holders[static_cast<std::size_t>(survivor.holder)].gained_bytes += survivor.bytes;
      }
    }
    for (const auto& [holder, births] : steps) {
      recording_.holders[static_cast<std::size_t>(holder)].gained_entries = static_cast<std::int64_t>(births.size());
    }
    search_gradients();
  }

 private:
  // Of graphs that keep themselves: by a gradient with a graph where a step makes some. On a GPU these are made in
  // torch's own threads, in whose stacks no frame is the user's.
  void search_gradients() {
    const auto is_alone = [](const Survivor& s) { return s.is_in_cycle && s.holder < 0; };
    if (!std::ranges::any_of(recording_.survivors, is_alone)) return;
    const auto call = call_making_graphs(step_, names_);
    if (!call.has_value()) return;
    auto& objects = recording_.objects;
    const auto leaf = static_cast<int>(objects.nodes.size());
    objects.nodes.push_back({.type = "Tensor", .name = "a leaf"});
    objects.nodes.push_back({.type = "Tensor"});
    objects.edges.push_back({.from = leaf, .to = leaf + 1, .type = EdgeType::attribute, .label = "grad"});
    const auto index = static_cast<int>(recording_.holders.size());
    recording_.holders.push_back({.path = {static_cast<int>(objects.edges.size()) - 1},
                                  .held = leaf + 1,
                                  .container = leaf,
                                  .kept_by = statement_of(*call),
                                  .is_of_sources = true});
    for (auto& survivor : recording_.survivors) {
      if (is_alone(survivor)) survivor.holder = index;
    }
  }

  [[nodiscard]] static Statement statement_of(const TokenAt& method) {
    const auto& token = method.file->token(method.token);
    return {.file = method.file->path(),
            .line = token.line,
            .text = method.file->line_text(token.line),
            .calls = token.is_name() ? std::vector{std::string(token.text)} : std::vector<std::string>()};
  }

  int search_holder(int stack) {
    std::vector<Kept> kept;
    for (auto& fill : flow_.fills_of(stack_at(recording_, stack))) {
      // "state = 0.9 * state + x" keeps the graphs of all the states before, and without any the newest alone.
      const bool is_without_graph = making_tensors_.contains(stack) && !making_graphs_.contains(stack);
      const bool is_newest = fill.type == CppFill::Type::sum && is_without_graph &&
                             capacity_of(fill.container, project_) != CppCapacity::growing;
      if (is_newest && (is_one_tensor(fill.container) || !is_made_of_itself(fill.receiver, true))) continue;
      // A chain of objects may be cut at any of them.
      auto structure = is_newest ? Structure{.type = StructureType::unknown} : structure_of(fill, step_, names_);
      auto behind = never_ends(structure) ? std::nullopt : put_on(fill);
      kept.push_back(behind.has_value() ? *std::move(behind) : Kept{std::move(fill), std::move(structure)});
    }
    return kept.empty() ? -1 : add_holder(deciding(kept), making_tensors_.contains(stack));
  }

  // Where all that a step takes out of a container goes on to one that never ends: that one.
  std::optional<Kept> put_on(const CppFill& fill) {
    if (fill.type != CppFill::Type::entry && fill.type != CppFill::Type::item) return std::nullopt;
    std::optional<Kept> found;
    for (const auto& removal : uses_of(fill.container, fill.type, step_, names_).removals) {
      if (!step_.contains(removal.at)) continue;
      const auto& file = *removal.at.file;
      const TokenAt named{&file, CppNames::receiver_of(file, removal.at.token)};
      const auto test = guard_of(removal.at, step_, names_);
      std::optional<Kept> next;
      for (auto& further : flow_.fills_from(named, fill.container)) {
        auto structure = structure_of(further, step_, names_, test);
        if (!never_ends(structure)) continue;
        next = Kept{std::move(further), std::move(structure)};
        break;
      }
      if (!next.has_value()) return std::nullopt;
      found = std::move(next);
    }
    return found;
  }

  int add_holder(const Kept& kept, bool holds_tensors) {
    auto kept_by = statement_of(kept.fill.at);
    const auto [known, is_new] =
        places_.try_emplace({kept_by.file, kept_by.line}, static_cast<int>(recording_.holders.size()));
    if (!is_new) return known->second;
    auto& objects = recording_.objects;
    const auto container = static_cast<int>(objects.nodes.size());
    objects.nodes.push_back({.type = kept.fill.container.type, .name = name_of(kept.fill.container)});
    // A stream has nothing in it but its text.
    const bool is_of_tensors = holds_tensors && !is_memory_stream(kept.fill.container, project_);
    objects.nodes.push_back({.type = is_of_tensors ? "Tensor" : ""});
    objects.edges.push_back({.from = container, .to = container + 1, .type = EdgeType::hidden});
    recording_.holders.push_back({
        .path = {static_cast<int>(objects.edges.size()) - 1},
        .held = container + 1,
        .container = container,
        .kept_by = std::move(kept_by),
        .structure = kept.structure,
        .is_weighed = true,
        .is_of_sources = true,
    });
    return known->second;
  }

  Recording& recording_;
  std::set<int> stacks_;
  std::set<int> making_tensors_;  // the first of each place whose survivors are not malloc's alone
  std::set<int> making_graphs_;   // of those the ones with survivors that have a graph
  CppProject project_;
  CppNames names_;
  ValueFlow flow_;
  CppStep step_;
  std::map<std::pair<std::string, int>, int> places_;
};

}  // namespace

void SourceHolderSearch::search(Recording& recording) { Search(recording).run(); }

}  // namespace stepleak
