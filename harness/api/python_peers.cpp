// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/api/python_peers.hpp"

#include <fmt/format.h>
#include <pybind11/embed.h>
#include <pybind11/stl.h>

#include <cstdio>
#include <vector>

#include "harness/explain/joint_result.hpp"
#include "harness/trace/serialise.hpp"

namespace py = pybind11;

namespace stepleak {
namespace {

// As ranks write it into their store: six numbers.
std::string to_text(const Move& move) {
  return fmt::format("{} {} {} {} {} {:d}", static_cast<int>(move.next), static_cast<int>(move.pass.type),
                     move.pass.planned_steps, move.pass.stride, move.pass.young_steps, move.is_leak ? 1 : 0);
}

Move to_move(const std::string& text) {
  int next = 0;
  int type = 0;
  long long planned = 0;
  long long stride = 1;
  long long young = 0;
  int is_leak = 0;
  if (std::sscanf(text.c_str(), "%d %d %lld %lld %lld %d", &next, &type, &planned, &stride, &young, &is_leak) != 6) {
    throw PeerFailure("a rank wants something that this one does not know: is it another version of stepleak?");
  }
  return {static_cast<Next>(next),
          {.type = static_cast<PassType>(type), .planned_steps = planned, .stride = stride, .young_steps = young},
          is_leak != 0};
}

}  // namespace

struct PythonPeers::State {
  py::object peers;
};

std::unique_ptr<PythonPeers> PythonPeers::find(double timeout_seconds) {
  const py::gil_scoped_acquire gil;
  auto peers = py::module_::import("stepleak._peers").attr("find")(timeout_seconds);
  if (peers.is_none()) return nullptr;
  return std::unique_ptr<PythonPeers>(new PythonPeers(std::make_unique<State>(State{std::move(peers)})));
}

PythonPeers::PythonPeers(std::unique_ptr<State> state) : state_(std::move(state)) {}

PythonPeers::~PythonPeers() {
  const py::gil_scoped_acquire gil;
  try {
    state_->peers.attr("stop")();
  } catch (py::error_already_set&) {
    // its thread ends with the process
  }
  state_.reset();
}

Move PythonPeers::agree(std::int64_t step, const Move& own) {
  const py::gil_scoped_acquire gil;
  std::vector<std::string> wishes;
  try {
    wishes = state_->peers.attr("agree")(step, to_text(own)).cast<std::vector<std::string>>();
  } catch (py::error_already_set& error) {
    throw PeerFailure(py::str(error.value()).cast<std::string>());
  }
  auto joint = to_move(wishes.front());
  for (const auto& wish : wishes) joint = joint_move(joint, to_move(wish));
  return joint;
}

void PythonPeers::leave(const std::string& what) noexcept {
  const py::gil_scoped_acquire gil;
  try {
    state_->peers.attr("leave")(what);
  } catch (py::error_already_set&) {
    // the others see at their timeout that this rank is gone
  }
}

Result PythonPeers::joined(Result own) {
  const py::gil_scoped_acquire gil;
  const int rank = state_->peers.attr("rank").cast<int>();
  std::vector<Result> results;
  try {
    // Series stay where they were recorded.
    auto summary = own;
    summary.trace = {};
    for (const auto& text : state_->peers.attr("gather")(to_json(summary)).cast<std::vector<std::string>>()) {
      results.push_back(result_from_json(text));
    }
  } catch (py::error_already_set& error) {
    own.notes.push_back(fmt::format("only this rank's own result: {}", py::str(error.value()).cast<std::string>()));
    return own;
  }
  return joint_result(std::move(own), rank, results);
}

}  // namespace stepleak
