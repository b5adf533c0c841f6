// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/python/python_holder_search.hpp"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/probes/python/frame_locals.hpp"
#include "harness/probes/python/name_bytes.hpp"
#include "harness/trace/collective_recorder.hpp"
#include "harness/trace/holder_text.hpp"

namespace py = pybind11;

namespace stepleak {
namespace {

using Clock = std::chrono::steady_clock;

// Who waits for longer has millions of objects, and more of them each time.
constexpr double kMostSeconds = 60;
// Of what is left: there are several searches in a run, and steps between them and after them.
constexpr double kShareOfTheRest = 0.25;

double seconds_for_a_search(std::optional<Clock::time_point> ends_at) {
  if (!ends_at) return kMostSeconds;
  const double left = std::chrono::duration<double>(*ends_at - Clock::now()).count();
  return std::clamp(kShareOfTheRest * left, 0.0, kMostSeconds);
}

std::string text_of(const py::handle& text) { return name_bytes(text.ptr()); }

std::vector<std::string> texts_of(const py::handle& list) {
  std::vector<std::string> texts;
  for (const auto& text : list) texts.push_back(text_of(text));
  return texts;
}

std::optional<std::vector<std::string>> detached_of(const py::object& statement) {
  const py::object told = statement["detached"];
  if (told.is_none()) return std::nullopt;
  return texts_of(told);
}

ObjectGraph to_graph(const py::dict& found) {
  ObjectGraph graph;
  for (const auto& node : found["nodes"]) {
    graph.nodes.push_back({.type = text_of(node["type"]),
                           .name = text_of(node["name"]),
                           .length = node["length"].cast<std::int64_t>(),
                           .bound = node["bound"].cast<std::int64_t>(),
                           .is_optimizer = node["is_optimizer"].cast<bool>()});
  }
  for (const auto& edge : found["edges"]) {
    graph.edges.push_back({.from = edge["from"].cast<int>(),
                           .to = edge["to"].cast<int>(),
                           .type = parse_edge_type(text_of(edge["type"])).value_or(EdgeType::other),
                           .label = text_of(edge["label"])});
  }
  return graph;
}

std::vector<Holder> to_paths(const py::dict& found) {
  std::vector<Holder> paths;
  for (const auto& holder : found["holders"]) {
    const py::object kept_by = holder["kept_by"];
    const py::object structure = holder["structure"];
    paths.push_back(
        {.path = holder["path"].cast<std::vector<int>>(),
         .held = holder["held"].cast<int>(),
         .container = holder["container"].cast<int>(),
         .graph = holder["graph"].cast<int>(),
         .kept_by = {.file = text_of(kept_by["file"]),
                     .line = kept_by["line"].cast<int>(),
                     .text = text_of(kept_by["text"]),
                     .expression = text_of(kept_by["expression"]),
                     .calls = texts_of(kept_by["calls"]),
                     .detached = detached_of(kept_by),
                     .is_used_as_tensor = kept_by["is_used_as_tensor"].cast<bool>()},
         .structure = {.type = parse_structure_type(text_of(structure["kind"])).value_or(StructureType::unknown),
                       .bound = structure["bound"].cast<std::int64_t>(),
                       .file = text_of(structure["file"]),
                       .line = structure["line"].cast<int>(),
                       .text = text_of(structure["text"])},
         .buffer_bytes = holder["buffer_bytes"].cast<std::int64_t>(),
         .buffer_growth = holder["buffer_growth"].cast<std::int64_t>(),
         .gained_entries = holder["gained_entries"].cast<std::int64_t>(),
         .gained_bytes = holder["gained_bytes"].cast<std::int64_t>(),
         .gained_blocks = holder["gained_blocks"].cast<std::int64_t>(),
         .gained_block_bytes = holder["gained_block_bytes"].cast<std::int64_t>(),
         .gained_cuda_objects = holder["gained_cuda_objects"].cast<std::int64_t>(),
         .is_weighed = holder["is_weighed"].cast<bool>(),
         .gains_callbacks = holder["gains_callbacks"].cast<bool>(),
         .free_entries = holder["free_entries"].cast<std::int64_t>(),
         .is_waiting = holder["is_waiting"].cast<bool>(),
         .are_items_used = holder["are_items_used"].cast<bool>(),
         .has_new_keys_only = holder["has_new_keys_only"].cast<bool>()});
  }
  return paths;
}

// Tensors only: nodes and blocks have no Python object of their own.
// Sinks first: what a graph holds has no Python holder, and that proves nothing. Then the oldest; but second comes the
// newest that is a proof: where each is held by the next one, the way to the oldest may be too long to be found.
std::vector<std::uint64_t> wanted_of(const Recording& recording) {
  std::vector<const Survivor*> tensors;
  for (const auto& survivor : recording.survivors) {
    if (survivor.type == SurvivorType::tensor) tensors.push_back(&survivor);
  }
  std::stable_sort(tensors.begin(), tensors.end(), [](const Survivor* a, const Survivor* b) {
    return a->is_sink != b->is_sink ? a->is_sink : a->birth_step < b->birth_step;
  });
  const auto newest = std::find_if(tensors.rbegin(), tensors.rend(), [&](const Survivor* tensor) {
    return tensor->is_sink == tensors.front()->is_sink && recording.is_proof(tensor->birth_step);
  });
  if (newest != tensors.rend() && newest.base() - tensors.begin() > 2) {
    std::rotate(tensors.begin() + 1, newest.base() - 1, newest.base());
  }
  std::vector<std::uint64_t> wanted;
  for (const auto* tensor : tensors) wanted.push_back(tensor->identity);
  return wanted;
}

// What a step may hand on, the newest first: a state with the graph of all steps, to which the graph of its successor
// leads. Of a large graph of the last step many tensors are as young.
std::vector<std::uint64_t> handed_on(const Recording& recording) {
  constexpr std::size_t kMost = 16;
  std::vector<std::uint64_t> newest;
  for (auto survivor = recording.survivors.rbegin(); survivor != recording.survivors.rend(); ++survivor) {
    const bool is_one = survivor->type == SurvivorType::tensor && recording.is_handed_on(*survivor);
    if (is_one && newest.size() < kMost) newest.push_back(survivor->identity);
  }
  return newest;
}

// Of memory that no operator was seen to return: a tensor that a function of C++ made has it, or none.
std::set<std::uint64_t> blocks_of(const Recording& recording) {
  std::set<std::uint64_t> blocks;
  for (const auto& survivor : recording.survivors) {
    const bool is_old_block = survivor.type == SurvivorType::block && recording.is_proof(survivor.birth_step);
    if (is_old_block) blocks.insert(survivor.identity);
  }
  for (const auto& survivor : recording.survivors) blocks.erase(survivor.storage);
  return blocks;
}

// As Python has the names of files in its objects, in whatever locale.
py::str file_name(const std::string& file) {
  auto* name = PyUnicode_DecodeFSDefaultAndSize(file.data(), static_cast<Py_ssize_t>(file.size()));
  if (name == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(name);
}

py::dict user_lines(const Recording& recording) {
  std::map<std::string, std::set<int>> lines;
  for (const auto& stack : recording.stacks) {
    for (const auto& frame : stack) {
      if (frame.owner != FrameOwner::runtime) lines[frame.file].insert(frame.line);
    }
  }
  py::dict by_name;
  for (const auto& [file, numbers] : lines) by_name[file_name(file)] = numbers;
  return by_name;
}

// Where each tensor was made: the user's lines and those of libraries.
std::map<std::uint64_t, std::vector<std::pair<py::str, int>>> birth_lines(const Recording& recording) {
  std::map<std::uint64_t, std::vector<std::pair<py::str, int>>> lines;
  for (const auto& survivor : recording.survivors) {
    if (survivor.type != SurvivorType::tensor || survivor.stack < 0) continue;
    auto& of_tensor = lines[survivor.identity];
    for (const auto& frame : recording.stacks.at(static_cast<std::size_t>(survivor.stack))) {
      if (frame.owner != FrameOwner::runtime) of_tensor.emplace_back(file_name(frame.file), frame.line);
    }
  }
  return lines;
}

// pybind11 makes the text of an error when it is asked for, with the files of its traceback, and ends the process where
// such a name is not UTF-8.
[[noreturn]] void rethrow(const py::error_already_set& error) {
  auto text = text_of(error.type().attr("__name__")) + ": ";
  PyObject* value = PyObject_Str(error.value().ptr());
  if (value == nullptr) PyErr_Clear();
  if (const auto message = py::reinterpret_steal<py::object>(value)) text += text_of(message);
  throw std::runtime_error(text);
}

// To its state or its parameters, not to its hooks or theirs. Nor where what grows holds what has an optimizer:
// finished trials.
bool leads_through_optimizer(const ObjectGraph& graph, const Holder& holder) {
  const auto is_optimizer = [&](int node) { return graph.nodes.at(static_cast<std::size_t>(node)).is_optimizer; };
  const auto is_hooked = [&](int index) {
    return graph.edges.at(static_cast<std::size_t>(index)).label.ends_with("_hooks");
  };
  if (std::any_of(holder.path.begin(), holder.path.end(), is_hooked)) return false;
  bool is_inside = false;
  for (const auto index : holder.path) {
    const auto& edge = graph.edges.at(static_cast<std::size_t>(index));
    is_inside = is_inside || is_optimizer(edge.from);
    if (is_inside && edge.type != EdgeType::hidden) return edge.label == "state" || edge.label == "param_groups";
    if (edge.from == holder.container && !is_optimizer(edge.to)) return false;
  }
  return is_inside || is_optimizer(holder.held);
}

}  // namespace

struct PythonHolderSearch::State {
  py::object search;

  template <typename... Arguments>
  py::object call(const char* name, Arguments&&... arguments) const {
    try {
      return search.attr(name)(std::forward<Arguments>(arguments)...);
    } catch (const py::error_already_set& error) {
      rethrow(error);
    }
  }
};

PythonHolderSearch::PythonHolderSearch(void* root, PythonCollector& collector, std::optional<Clock::time_point> ends_at)
    : state_(std::make_unique<State>()), collector_(collector), ends_at_(ends_at) {
  const py::gil_scoped_acquire gil;
  const auto step =
      root == nullptr ? py::object(py::none()) : py::reinterpret_borrow<py::object>(static_cast<PyObject*>(root));
  const auto read_locals = py::reinterpret_steal<py::object>(static_cast<PyObject*>(frame_locals_reader()));
  state_->search = py::module_::import("stepleak._holders").attr("HolderSearch")(step, read_locals);
}

PythonHolderSearch::~PythonHolderSearch() {
  const py::gil_scoped_acquire gil;
  collector_.show_next_garbage({});
  state_.reset();
}

namespace {

/// Whatever comes of a search, the collector's ledger goes on.
class FrozenAgain {
 public:
  explicit FrozenAgain(PythonCollector& collector) : collector_(collector) { collector_.unfreeze(); }
  FrozenAgain(const FrozenAgain&) = delete;
  FrozenAgain& operator=(const FrozenAgain&) = delete;
  ~FrozenAgain() { collector_.freeze(); }

 private:
  PythonCollector& collector_;
};

}  // namespace

void PythonHolderSearch::begin() {
  const py::gil_scoped_acquire gil;
  const FrozenAgain unfrozen(collector_);
  state_->call("begin", seconds_for_a_search(ends_at_));
}

void PythonHolderSearch::halfway() {
  const py::gil_scoped_acquire gil;
  state_->call("halfway");
  if (collector_.is_enabled()) return;
  collector_.show_next_garbage(
      [this](void* garbage) { state_->search.attr("see_garbage")(py::handle(static_cast<PyObject*>(garbage))); });
}

void PythonHolderSearch::end() {
  const py::gil_scoped_acquire gil;
  state_->call("end");
}

void PythonHolderSearch::search(Recording& recording) {
  const py::gil_scoped_acquire gil;
  collector_.unfreeze();
  const bool are_graphs_cyclic =
      std::any_of(recording.survivors.begin(), recording.survivors.end(),
                  [](const Survivor& survivor) { return survivor.type == SurvivorType::node && survivor.is_in_cycle; });
  const py::dict found = state_->call(
      "search", wanted_of(recording), user_lines(recording), recording.steps, seconds_for_a_search(ends_at_),
      py::arg("are_graphs_cyclic") = are_graphs_cyclic, py::arg("blocks") = blocks_of(recording),
      py::arg("born") = birth_lines(recording), py::arg("handed_on") = handed_on(recording));
  for (const auto& note : found["notes"]) recording.notes.push_back(text_of(note));
  recording.objects = to_graph(found);
  recording.holders = to_paths(found);
  const auto holder_of = found["holder_of"].cast<std::map<std::uint64_t, int>>();
  const auto unreachable = found["unreachable"].cast<std::set<std::uint64_t>>();
  const auto held = found["held"].cast<std::set<std::uint64_t>>();
  const auto gradient = found["gradient"].cast<int>();
  const auto keeping_nodes = found["keeping_nodes"].cast<int>();
  const auto garbage = found["garbage"].cast<int>();
  const auto profiler = found["profiler"].cast<int>();
  if (profiler < 0 && found["records_profile"].cast<bool>())
    recording.notes.emplace_back("a profiler of torch's keeps all that it records until it is stopped");
  const auto records_collectives = found["records_collectives"].cast<bool>();
  for (auto& survivor : recording.survivors) {
    const bool is_of_torch = survivor.type == SurvivorType::heap && survivor.library.starts_with("libtorch");
    if (profiler >= 0 && is_of_torch) survivor.holder = profiler;
    if (records_collectives && is_of_torch) survivor.library = kCollectiveRecorder;
    if (survivor.type == SurvivorType::node) {
      survivor.holder = survivor.is_in_cycle ? gradient : survivor.is_sink ? keeping_nodes : -1;
    }
    if (survivor.is_collected) survivor.holder = garbage;
    if (survivor.type != SurvivorType::tensor && survivor.type != SurvivorType::block) continue;
    auto holder = holder_of.find(survivor.identity);
    // What is inside of a sparse tensor is known by its memory.
    if (holder == holder_of.end() && survivor.storage != 0) holder = holder_of.find(survivor.storage);
    if (holder != holder_of.end()) survivor.holder = holder->second;
    survivor.is_optimizer_state =
        survivor.holder >= 0 &&
        leads_through_optimizer(recording.objects, recording.holders.at(static_cast<std::size_t>(survivor.holder)));
    survivor.is_unreachable = unreachable.contains(survivor.identity);
    // A graph that something holds in C++ may lead to it.
    if (survivor.is_unreachable && survivor.has_graph && !survivor.is_sink) survivor.holder = -1;
    survivor.is_view_base = survivor.is_view_base && !held.contains(survivor.identity);
  }
}

}  // namespace stepleak
