// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "harness/probes/probe.hpp"

namespace stepleak {

class StackTable;

/// Live tensors and autograd nodes, exact for what operators return: a global RecordFunction callback keeps
/// weak references to outputs and to their `grad_fn`, and each boundary counts those still alive.
///
/// Weak references keep no tensor memory and no graph alive; the shells are dropped at each boundary.
/// Not seen: tensors made without an operator (`from_blob`, shallow copies made in C++, unpacked saved
/// variables), compiled graphs, threads with record functions switched off. The allocator's ledgers see
/// their memory all the same.
///
/// The callback costs about a microsecond an operator, which a step that waits for launches feels. With a `stride` it
/// is on in every so-many-th step only, and the columns count what outlived its step there, times the stride: right for
/// a leak of each step; a rarer one is seen more rarely. Take a prime, so that no short period of the step hides from
/// it.
///
/// torch refuses to swap tensors that weak references lead to, so those are let go around a swap
/// (tensor_references.hpp).
///
/// In recorded steps of the record pass it also records operator and stack of each birth, and end_record() walks the
/// graphs to tell which survivors are sinks (nothing else keeps them) and which lie on a cycle of ownership.
class GraphProbe final : public Probe {
 public:
  explicit GraphProbe(std::shared_ptr<StackTable> stacks, std::int64_t stride = 1);
  ~GraphProbe() override;

  [[nodiscard]] std::string_view name() const override { return "graph"; }
  [[nodiscard]] std::vector<SeriesKey> keys() const override;
  void start() override;
  void begin_step(std::int64_t step) override;
  void read(Moment moment, std::span<std::int64_t> row) override;
  void record_stacks(bool is_recording) override;
  void begin_record() override;
  void end_record(Recording& recording) override;

 private:
  // What the callback does at operators from now on.
  enum class Mode : std::uint8_t { off, outputs, stacks, outputs_and_stacks, explain };
  void set_mode(Mode mode);
  [[nodiscard]] Mode mode_in_screen() const;

  std::shared_ptr<StackTable> stacks_;
  std::int64_t stride_;
  std::int64_t step_ = 0;
  Mode mode_ = Mode::off;
  bool is_explaining_ = false;
  bool is_recording_stacks_ = false;
};

}  // namespace stepleak
