// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/trace/object_graph.hpp"
#include "harness/trace/pass.hpp"
#include "harness/trace/survivor.hpp"

namespace stepleak {

/// What a record pass left behind: what was born in its recorded steps and is alive at its end, where that was made,
/// and who holds it. Complete before it enters a trace; never changed there.
struct Recording {
  Pass pass;
  std::int64_t steps = 0;  ///< that ran; 0: there was no record pass
  std::vector<Survivor> survivors;
  std::vector<std::vector<Frame>> stacks;
  ObjectGraph objects;  ///< what the search for holders saw of the program
  std::vector<Holder> holders;
  /// Python objects that were born in it and were garbage, which only a collection of all objects could free: what had
  /// been set apart from the collector led to them.
  std::int64_t set_apart_garbage = 0;
  std::vector<std::string> notes;  ///< what of it could not be had: "the search for holders failed: ..."

  [[nodiscard]] bool is_empty() const { return steps == 0; }
  /// The one that ran last of its pass.
  [[nodiscard]] std::int64_t last_step() const { return pass.first_step + steps - 1; }
  /// Whether births in a step were recorded: in every stride-th one, counted from the last that was planned.
  [[nodiscard]] bool is_recorded(std::int64_t step) const;
  /// Whether what was born in a step and is alive at the end proves that it stays: the step was recorded, and is none
  /// of the newest, which may still be in use.
  [[nodiscard]] bool is_proof(std::int64_t step) const;
  /// Whether a tensor has a graph, is no sink, and is as young as what one step hands on to the next.
  [[nodiscard]] bool is_handed_on(const Survivor& survivor) const;
  /// In how many steps births were recorded.
  [[nodiscard]] std::int64_t recorded_steps() const;
  /// How many steps are a proof.
  [[nodiscard]] std::int64_t proof_steps() const;
};

/// Whether a survivor was born in a step that is a proof, and no collection of ours freed it.
[[nodiscard]] bool is_old(const Recording& recording, const Survivor& survivor);

}  // namespace stepleak
