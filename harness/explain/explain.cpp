// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/explain/explain.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "harness/analyse/suspects.hpp"
#include "harness/base/files.hpp"
#include "harness/trace/frames.hpp"
#include "harness/trace/holder_text.hpp"

namespace stepleak {
namespace {

// Whether an expression may be a tensor itself: no list, no choice between two, nothing unpacked.
bool may_be_tensor(const std::string& expression) {
  if (expression.empty() || std::string_view("[({*\"'").find(expression.front()) != std::string_view::npos)
    return false;
  const auto words = {" if ", " for ", " and ", " or ", "lambda", ", "};
  return std::none_of(words.begin(), words.end(), [&](const char* word) {
    const auto at = expression.find(word);
    // What a call is handed is not what it returns.
    return at != std::string::npos && at < expression.find('(');
  });
}

// The last place of an expression in a statement, as whole words: `h` is no part of `torch.rand(8)`; npos: it has none.
std::size_t last_place_of(std::string_view expression, std::string_view text) {
  const auto is_of_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (auto at = text.rfind(expression); at != std::string_view::npos; at = text.rfind(expression, at - 1)) {
    const auto end = at + expression.size();
    const bool is_begun = at > 0 && (is_of_word(text[at - 1]) || text[at - 1] == '.');
    if (!is_begun && (end == text.size() || !is_of_word(text[end]))) return at;
    if (at == 0) break;
  }
  return std::string_view::npos;
}

// What is to be called on what a statement keeps, where that may be, and what else of it is to be detached then.
std::vector<Correction> corrected(const Statement& kept, std::string_view suffix) {
  const bool is_of_graph = suffix != ".clone()";
  const auto expressions = is_of_graph && kept.detached ? *kept.detached : std::vector{kept.expression};
  std::vector<Correction> corrections;
  for (const auto& each : expressions) {
    if (!may_be_tensor(each) || last_place_of(each, kept.text) == std::string_view::npos) return {};
    const auto called = each == kept.expression ? suffix : ".detach()";
    corrections.push_back({kept.file, kept.line, kept.text, each, std::string(called)});
  }
  return corrections;
}

// "self.history.append(loss)" with `loss` replaced: the statement as it should be.
std::string statement_of(const std::vector<Correction>& corrections) {
  auto statement = corrections.front().text;
  std::map<std::size_t, const Correction*, std::greater<>> places;
  for (const auto& each : corrections) places.emplace(last_place_of(each.expression, statement), &each);
  for (const auto& [at, correction] : places) {  // from the rear
    const bool is_name = correction->expression.find_first_of(" +-*/") == std::string::npos;
    const auto expression = is_name ? correction->expression : "(" + correction->expression + ")";
    statement.replace(at, correction->expression.size(), expression + correction->suffix);
  }
  return statement;
}

/// What to change, in a sentence, and the user's own statement where it is known how that should be.
struct Advice {
  std::string text;
  std::vector<Correction> corrections{};  ///< of one statement
};

// Where what is kept is kept by the variables of a function that has not ended, that is what must go. The nearest to
// what is kept decides; empty where none is on the way.
std::string fix_of_frame(const Finding& finding, const Recording& recording) {
  const auto* holder = holder_of(finding, recording);
  if (holder == nullptr) return {};
  for (auto edge = holder->path.rbegin(); edge != holder->path.rend(); ++edge) {
    const auto from = recording.objects.edges.at(static_cast<std::size_t>(*edge)).from;
    const auto& type = recording.objects.nodes.at(static_cast<std::size_t>(from)).type;
    if (type == "traceback")
      return "keep str(error), or error.with_traceback(None): a traceback keeps all variables of its functions";
    if (type == "generator" || type == "async_generator")
      return "run the generator to its end, or close() and drop it: until then it keeps its variables";
    if (type == "coroutine") return "await or close() the coroutine: until then it keeps its variables";
    if (type == "_tee_dataobject")
      return "drop the iterator of tee() that is behind, or take from it too: until then all in between is kept";
    if (from == holder->container) return {};  // which grew, whoever keeps it
  }
  // One variable that gathers, or sums up, is another thing.
  if (!holder->is_waiting || holder->path.size() != 1 || holder->graph >= 0) return {};
  return "let what waits there end, or wait with a time limit: until then its function keeps its variables";
}

// Where a library has what was registered with it, or handed to it, under a name of its own.
std::string fix_of_library(const Finding& finding, const Recording& recording) {
  const auto* holder = holder_of(finding, recording);
  if (holder == nullptr || holder->held < 0) return {};
  const auto& objects = recording.objects;
  const auto node_at = [&](int index) -> const ObjectNode& {
    return objects.nodes.at(static_cast<std::size_t>(index));
  };
  const auto edge_at = [&](int index) -> const ObjectEdge& {
    return objects.edges.at(static_cast<std::size_t>(index));
  };
  if (const auto& type = node_at(holder->held).type; type == "profile" || type == "_KinetoProfile")
    return "a profiler records until it is stopped: give it a schedule, or stop it after some steps";
  const auto& root = node_at(holder->path.empty() ? holder->held : edge_at(holder->path.front()).from);
  if (root.name == "atexit")
    return "register the function once, outside of the step, or take it back with atexit.unregister()";
  if (root.name.starts_with("torch.distributed.distributed_c10d.") && finding.kept_by.calls_a("new_group"))
    return "make the group once, or destroy it after its last use: destroy_process_group(group)";
  if (holder->container < 0 || holder->path.empty()) return {};
  // A key, which no attribute and no key leads to.
  const auto& last = edge_at(holder->path.back());
  const bool is_key = last.from == holder->container && last.type == EdgeType::other;
  if (is_key && node_at(holder->container).type == "Counter" && node_at(last.to).type == "Tensor")
    return "count numbers, as of tolist(): as a key no tensor is the same as another one";
  return {};
}

// Where what grew is a library's table of what was registered, whatever that keeps.
std::string fix_of_table(const Finding& finding, const Recording& recording) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kTables{{
      {"_hooks", "remove the hook: keep the handle that registering it returns, and call its remove()"},
      {"_exit_callbacks", "close the stack in each step: with ExitStack() as stack"},
      {"handlers", "add the handler once, outside of the step, or take it out again with removeHandler()"},
  }};
  const auto* holder = holder_of(finding, recording);
  if (holder == nullptr || holder->container < 0) return {};
  if (recording.objects.nodes.at(static_cast<std::size_t>(holder->container)).name == "threading._active")
    return "let each thread that the step starts end, and join() it";
  for (const auto index : holder->path) {
    const auto& edge = recording.objects.edges.at(static_cast<std::size_t>(index));
    if (edge.to != holder->container) continue;
    if (recording.objects.nodes.at(static_cast<std::size_t>(edge.from)).type == "_lru_cache_wrapper")
      return "give the cache a maxsize, or call its cache_clear() once its entries are of no more use";
    if (recording.objects.nodes.at(static_cast<std::size_t>(edge.from)).type == "cycle")
      return "begin a new iterator at the end of each pass: itertools.cycle keeps all that it has given";
    if (edge.label == "_registry" && finding.kept_by.calls_a("finalize"))
      return "let the finalizer watch what goes with the step, or detach() it: until then it keeps its arguments";
    for (const auto& [label, advice] : kTables) {
      const bool is_loggers = label != "handlers" || finding.kept_by.calls_a("addHandler");
      if (edge.label.ends_with(label) && is_loggers) return std::string(advice);
    }
  }
  return {};
}

// Where a context variable has a value that leads to all before it, or the token of what set it does: nothing else that
// sets something returns what is worth keeping.
std::string fix_of_context(const Finding& finding, const Recording& recording) {
  const auto* holder = holder_of(finding, recording);
  if (holder == nullptr || !finding.kept_by.calls_a("set")) return {};
  const auto root =
      holder->path.empty() ? -1 : recording.objects.edges.at(static_cast<std::size_t>(holder->path.front())).from;
  const bool is_of_variable =
      root >= 0 && recording.objects.nodes.at(static_cast<std::size_t>(root)).type == "ContextVar";
  const auto& text = finding.kept_by.text;
  const auto call = text.find(".set(");
  const bool is_kept = call != std::string::npos && text.find(" = ") < call;
  if (!is_of_variable && !is_kept) return {};
  return "take each value back, where the step fails too: reset() with the token that set() returned";
}

// Of a tensor in C++ that gets a function with each step.
std::string fix_of_hook(const Finding& finding, const Recording& recording) {
  const auto* holder = holder_of(finding, recording);
  if (holder == nullptr || !holder->is_of_sources || !finding.kept_by.calls_a("register_hook")) return {};
  return "register the hook once, or give remove_hook() the number that register_hook() returned";
}

// Of what leads back to itself: torch's own cycles first. The advice on gradients is that of torch's warning.
std::string fix_of_cycle(const Finding& finding, const Recording& recording) {
  const auto* holder = holder_of(finding, recording);
  for (const auto index : holder == nullptr ? std::vector<int>() : holder->path) {
    const auto& label = recording.objects.edges.at(static_cast<std::size_t>(index)).label;
    if (label.ends_with("_hooks")) return "let the hook capture x.detach(), or nothing that leads to what it is put on";
    if (label == "grad")
      return "set .grad to None in each step, or use torch.autograd.grad: a gradient with a graph leads back to its "
             "leaf";
  }
  return finding.where.empty() ? "break the cycle with a weak reference, or let the collector have it"
                               : "break the cycle: hold one side weakly, or do not store an output on what made it";
}

// Where a lambda holds what it was given to, or a context the output of its own function.
std::string fix_of_capture(const Finding& finding, const Recording& recording) {
  const auto* holder = holder_of(finding, recording);
  if (holder == nullptr || !holder->is_of_sources) return {};
  const auto& type = recording.objects.nodes.at(static_cast<std::size_t>(holder->container)).type;
  if (type == kContextType) return "store an output by save_for_backward(), which makes no cycle, or store x.detach()";
  if (type != kCapturingType) return {};
  return "let the lambda capture a std::weak_ptr, x.detach(), or nothing that leads to what it is put on";
}

// Where what is kept was handed to an optimizer, whatever it is.
std::string fix_of_group(const Finding& finding, const Recording& recording) {
  if (!finding.kept_by.calls_a(kGrouping)) return {};
  const auto* holder = holder_of(finding, recording);
  if (holder != nullptr && holder->is_of_sources) {
    return "take the old group from param_groups() and its parameters from state(), or make a new optimizer";
  }
  return "an optimizer gives no group back: make a new optimizer where its parameters change";
}

// Where the sources have what empties the container, and no step calls it.
std::string fix_of_container(const Finding& finding, std::string_view advice) {
  const auto& structure = finding.structure;
  if (structure.type != StructureType::uncalled || structure.line == 0) return std::string(advice);
  return fmt::format("call what empties it, at {}:{}, once what it holds is of no more use",
                     std::filesystem::path(structure.file).filename().string(), structure.line);
}

// Where it is against what the program declares.
std::string fix_of_declared(const Finding& finding) {
  const auto& structure = finding.structure;
  if (structure.type != StructureType::exceeded) return {};
  return fmt::format("keep it to the {} entries that {}:{} declares, or declare what it needs", structure.bound,
                     std::filesystem::path(structure.file).filename().string(), structure.line);
}

// Of what makes each entry smaller: where there are ever more entries, that alone stops nothing.
std::string with_bound(std::string_view advice, const Finding& finding, const Recording& recording) {
  const auto* holder = holder_of(finding, recording);
  const bool gains = holder != nullptr && holder->gained_entries > 0;
  return fmt::format("{}{}", advice, gains ? ", and bound what keeps it" : "");
}

// The statement with a number in the place of the tensor, unless the sources need a tensor later on.
Advice advice_of_number(const Finding& finding, const Recording& recording) {
  const auto* holder = holder_of(finding, recording);
  if (holder != nullptr && holder->are_items_used)
    return {"keep a number where one will do, or clear what keeps it once its graph is of no more use"};
  const auto& kept = finding.kept_by;
  const bool is_cut_there =
      !kept.detached || std::ranges::find(*kept.detached, kept.expression) != kept.detached->end();
  if (kept.is_used_as_tensor || !is_cut_there) return {"detach what outlives the step", corrected(kept, ".detach()")};
  return {"keep a number, not the tensor", corrected(finding.kept_by, ".item()")};
}

Advice advice_of(const Finding& finding, const Recording& recording) {
  // What nothing of a recorded step bears out may have another cause.
  const bool is_borne_out = finding.kept_count > 0 || finding.has_gained || finding.holder_index >= 0;
  if (finding.explained_steps > 0 && !is_borne_out && finding.kind == Kind::graph_retention) return {};
  if (auto fix = fix_of_frame(finding, recording); !fix.empty()) return {std::move(fix)};
  if (auto fix = fix_of_declared(finding); !fix.empty()) return {std::move(fix)};
  if (auto fix = fix_of_library(finding, recording); !fix.empty()) return {std::move(fix)};
  if (auto fix = fix_of_table(finding, recording); !fix.empty()) return {std::move(fix)};
  if (auto fix = fix_of_context(finding, recording); !fix.empty()) return {std::move(fix)};
  if (auto fix = fix_of_group(finding, recording); !fix.empty()) return {std::move(fix)};
  if (auto fix = fix_of_capture(finding, recording); !fix.empty()) return {std::move(fix)};
  if (auto fix = fix_of_hook(finding, recording); !fix.empty()) return {std::move(fix)};
  switch (finding.kind) {
    case Kind::graph_retention:
      return advice_of_number(finding, recording);
    case Kind::attached_activation:
      return {with_bound("detach what outlives the step", finding, recording), corrected(finding.kept_by, ".detach()")};
    case Kind::detached_activation:
      return {fix_of_container(finding, finding.device == kHost
                                            ? "keep a summary, or bound what keeps it"
                                            : "keep a summary, move it to the host, or bound what keeps it")};
    case Kind::view_pins_storage:
      return {with_bound("copy the part that is kept", finding, recording), corrected(finding.kept_by, ".clone()")};
    case Kind::growing_buffer:
      return {"bound the buffer, or keep a list and reset it"};
    case Kind::reference_cycle:
      return {fix_of_cycle(finding, recording)};
    case Kind::host_heap:
      // Memory that only a library's own code made and holds is no list of the user's; and where only the allocation is
      // known, it may have been lost.
      if (finding.holder.empty() && finding.holder_index < 0)
        return {finding.where.empty() ? "" : "free what is allocated there, or bound what keeps it"};
      return {fix_of_container(finding, "bound what the step appends to on the host")};
    case Kind::optimizer_state:
      return {"drop the optimizer's state together with the parameters that it belongs to"};
    case Kind::fragmentation_drift:
      return {"keep sizes few, or set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"};
    case Kind::stuck_free:
      return {"synchronise the stream that the block was recorded on"};
    case Kind::pinned_host:
      return {"pin buffers of few sizes and use them again"};
    case Kind::raw_cuda:
      return {fix_of_container(
          finding, finding.has_gained ? "bound or clear what keeps them: each is destroyed with its last reference"
                                      : "destroy what the step creates outside the caching allocator")};
    case Kind::growth:
      break;
  }
  return {fix_of_container(finding, "bound or clear what keeps it")};
}

// What became of the step with the statement corrected, in a word.
std::string with_trial(const Advice& advice, const Finding& finding, const Trial& trial) {
  const auto statements = fmt::format("{}", fmt::join(trial.statements, " and "));
  const bool is_of_graph = finding.kind == Kind::graph_retention || finding.kind == Kind::attached_activation;
  switch (trial.outcome) {
    case TrialOutcome::ended:
      return fmt::format("{}: {} (tried for {} steps: it ends)", advice.text, statements, trial.steps);
    case TrialOutcome::eased:
      return fmt::format("{}: {} (tried for {} steps: {}, what keeps it still grows)", advice.text, statements,
                         trial.steps, is_of_graph ? "no graph stays" : "less stays");
    case TrialOutcome::raised:
      return fmt::format("{} ({} was tried, and raised {})", advice.text, statements, trial.what);
    case TrialOutcome::in_vain:
      if (trial.what.empty()) break;
      return fmt::format("{}: {} (tried for {} steps: it goes on, by {})", advice.text, statements, trial.steps,
                         trial.what);
  }
  return advice.text;
}

}  // namespace

std::string fix_for(const Finding& finding, const Recording& recording, const std::vector<Trial>& trials) {
  const auto advice = advice_of(finding, recording);
  if (advice.corrections.empty()) return advice.text;
  const auto trial = std::find_if(trials.begin(), trials.end(), [&](const Trial& each) {
    return !each.corrections.empty() && each.corrections.front() == advice.corrections.front();
  });
  if (trial != trials.end()) return with_trial(advice, finding, *trial);
  return fmt::format("{}: {}", advice.text, statement_of(advice.corrections));
}

std::vector<Correction> corrections_for(const Finding& finding, const Recording& recording) {
  return advice_of(finding, recording).corrections;
}

std::string fingerprint_of(const Finding& finding) {
  std::string text(to_string(finding.kind));
  // A library's frame moves with its version; where the user's tell the place, they are enough.
  for (const auto& frame : fingerprint_frames(finding.where)) {
    text += fmt::format("|{}:{}", std::filesystem::path(frame.file).filename().string(), frame.function);
  }
  return fnv1a_hex(text + "|" + finding.holder_shape);
}

}  // namespace stepleak
