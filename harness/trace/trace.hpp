// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/trace/counter.hpp"
#include "harness/trace/survivor.hpp"

namespace stepleak {

/// What is known of the Python collector during the run.
struct CollectorFacts {
  bool has_python = false;
  bool is_enabled = true;  ///< false: the user's code turned the collector off
};

/// Steps, ledgers, cohorts and survivors of one run: the only thing that detectors and judge see.
/// A plain value; row r of a series is the boundary after step r + 1.
class Trace {
 public:
  Trace() = default;
  explicit Trace(std::vector<SeriesKey> keys) : keys_(std::move(keys)) {}

  /// Adds one boundary; the row holds one value a key, in the order of keys().
  void add_row(std::span<const std::int64_t> row);

  /// Makes room for that many boundaries, so that recording them does not move the host heap that is measured.
  void reserve(std::int64_t rows) { values_.reserve(static_cast<std::size_t>(rows) * keys_.size()); }

  [[nodiscard]] const std::vector<SeriesKey>& keys() const { return keys_; }
  [[nodiscard]] std::int64_t step_count() const;
  [[nodiscard]] bool has(const SeriesKey& key) const;
  /// The series of a key, one value a boundary; empty where the run did not observe it.
  [[nodiscard]] std::vector<std::int64_t> series(const SeriesKey& key) const;
  [[nodiscard]] std::vector<Device> devices() const;
  /// The cohorts of a device at the last look; null where none was taken.
  [[nodiscard]] const CohortTable* cohorts_of(Device device) const;
  /// Whether births in a step of the explain pass were recorded: in every explain_stride-th one, counted from the last.
  [[nodiscard]] bool is_recorded(std::int64_t step) const;
  /// Whether what was born in a step and is alive at the explain pass's end proves that it stays: the step was
  /// recorded, and is none of the newest two, which may still be in use.
  [[nodiscard]] bool is_proof(std::int64_t step) const;
  /// How many steps are a proof; 0 without an explain pass.
  [[nodiscard]] std::int64_t proof_steps() const;

  std::vector<CohortTable> cohorts;  ///< of the last look, one a device
  CollectorFacts collector;
  std::int64_t graph_stride = 1;     ///< live_nodes and live_tensors: births in every so-many-th step, times that
  std::int64_t declared_period = 0;  ///< steps; 0: the user declared none

  // --- filled by the explain pass only
  std::int64_t explained_from = -1;  ///< first step of the explain pass; -1: there was none
  std::int64_t explained_steps = 0;  ///< its length
  std::int64_t explain_stride = 1;   ///< births were recorded in every so-many-th of its steps
  std::vector<Survivor> survivors;
  std::vector<std::vector<Frame>> stacks;
  std::vector<Holder> holders;

 private:
  std::vector<SeriesKey> keys_;
  std::vector<std::int64_t> values_;
};

}  // namespace stepleak
