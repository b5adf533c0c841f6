// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "harness/probes/birth_counts.hpp"
#include "harness/probes/probe.hpp"

namespace stepleak {

class StackTable;

/// In which steps the callback is on.
enum class GraphCoverage : std::uint8_t { every_step, record_pass };

/// Live tensors and autograd nodes, exact for what operators return: a global RecordFunction callback keeps
/// weak references to outputs and to their `grad_fn`, and each boundary counts those still alive.
///
/// Weak references keep no tensor memory and no graph alive; the shells are dropped at each boundary.
/// Not seen: tensors made without an operator (`from_blob`, shallow copies made in C++, unpacked saved
/// variables), compiled graphs, threads with record functions switched off. The allocator's ledgers see
/// their memory all the same.
///
/// The callback costs one to three microseconds an operator, which a step that waits for launches feels, and a loop
/// that is watched for long: on a GPU and in a watch it is on in the record pass only, and there are no columns. A kept
/// graph shows there as live bytes and as about a kilobyte of host heap a node.
///
/// torch refuses to swap tensors that weak references lead to, so those are let go around a swap
/// (tensor_references.hpp).
///
/// In recorded steps of the record pass it also records operator and stack of each birth, and end_record() walks the
/// graphs to tell which survivors are sinks (nothing else keeps them) and which lie on a cycle of ownership.
class GraphProbe final : public Probe {
 public:
  explicit GraphProbe(std::shared_ptr<StackTable> stacks, GraphCoverage coverage = GraphCoverage::every_step);
  ~GraphProbe() override;

  [[nodiscard]] std::string_view name() const override { return "graph"; }
  [[nodiscard]] std::vector<SeriesKey> keys() const override;
  void start() override;
  void read(Moment moment, std::span<std::int64_t> row) override;
  void record_stacks(bool is_recording) override;
  void begin_record(const Pass& pass) override;
  void end_record(Recording& recording) override;

 private:
  // What the callback does at operators from now on.
  enum class Mode : std::uint8_t { off, outputs, stacks, outputs_and_stacks, explain };
  void set_mode(Mode mode);
  [[nodiscard]] Mode mode_in_screen() const;

  std::shared_ptr<StackTable> stacks_;
  GraphCoverage coverage_;
  Mode mode_ = Mode::off;
  bool is_explaining_ = false;
  bool is_recording_stacks_ = false;
};

/// Live nodes and tensors by the step of their birth, as of the last boundary.
[[nodiscard]] BirthCounts graph_births();

}  // namespace stepleak
