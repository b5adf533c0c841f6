// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "harness/analyse/trend.hpp"
#include "harness/trace/trace.hpp"

namespace stepleak {

/// Host heap: healthy steps move it by up to 150 bytes a step once warm (plans, other threads' caches, dictionaries
/// that grow), and a log of numbers by 33; reported leaks start at 1.4 KB a step.
inline constexpr double kHeapNoiseBytes = 150;
inline constexpr double kHeapFloorBytes = 512;

/// With an exact ledger beside it the heap needs less: above the noise, below the 300 bytes of the smallest reported
/// leak of hooks and wrappers.
inline constexpr double kSupportedFloorBytes = 256;

/// Memory mapped past malloc: a page a step, the least that who maps in each step can leave. A warm server's threads
/// and Python's arenas move it by up to 3.5 KB a step.
inline constexpr double kMappedFloorBytes = 4096;

/// Blocks of Python's own allocator: at some 64 bytes each, the host heap's floor.
inline constexpr double kBlockFloor = 8;

/// Fewer a step are noise: a dictionary that grows, a text that is kept for the next step.
inline constexpr double kBlockNoise = 2;

/// CUDA objects: one in eight steps, the least that the eight steps before the first verdict can show.
inline constexpr double kObjectFloor = 1.0 / kShortestSeries;

/// What the driver hands device memory out by (cuMemGetAllocationGranularity).
inline constexpr double kDriverPageBytes = 2 << 20;

/// The first of the steps that the next look judges: what follows the last fill pass, else the run's first. Where the
/// newest look is in a fill pass, which it then ended, that pass's first.
[[nodiscard]] std::int64_t judged_from(const Trace& trace);

/// The steps that are judged at the last look: from judged_from() to the
/// look. Before the first look: all that ran.
[[nodiscard]] StepRange judged_steps(const Trace& trace);

/// Python's objects without those that had been set apart and have died: where these were counted. Between two counts
/// they are taken to have died one after another.
[[nodiscard]] Ledger objects_alive(const Trace& trace);

/// A ledger over a range of steps, held between its readings; empty where the run did not observe it. Of python_objects
/// it is objects_alive().
[[nodiscard]] std::vector<std::int64_t> values_of(const Trace& trace, const SeriesKey& key, StepRange range);

/// The trends of all ledgers at one look: computed once, shared by judge and detectors. A plain value; its queries
/// answer `too_short` for what the run did not observe.
class Trends {
 public:
  explicit Trends(const Trace& trace) : Trends(trace, judged_steps(trace)) {}
  Trends(const Trace& trace, StepRange judged);

  [[nodiscard]] StepRange judged() const { return judged_; }
  /// Exact ledgers by their exact period; outside_bytes without a floor, python_blocks with kBlockFloor,
  /// mapped_bytes less page-locked ones with kMappedFloorBytes; cuda_objects from its first reading on, by its exact
  /// period; heap_bytes is heap(); python_objects by objects_alive(); none of children_bytes and frozen_deaths.
  [[nodiscard]] const Trend& of(const SeriesKey& key) const;
  /// malloc'ed bytes less tensors, which are judged by their own exact ledger; with kHeapFloorBytes.
  [[nodiscard]] const Trend& heap() const { return heap_; }
  /// How a noisy ledger, which libraries' caches move, rises ever more slowly. None of exact ones.
  [[nodiscard]] Decay decay_of(const SeriesKey& key) const;
  [[nodiscard]] bool is_decaying(const SeriesKey& key) const { return decay_of(key) != Decay::none; }
  /// The same with kSupportedFloorBytes.
  [[nodiscard]] const Trend& supported_heap() const { return supported_heap_; }
  /// The same with kHeapNoiseBytes: what grows by more is no noise, though it may be no leak.
  [[nodiscard]] const Trend& light_heap() const { return light_heap_; }
  /// Blocks of Python's own allocator with kBlockNoise.
  [[nodiscard]] const Trend& light_blocks() const { return light_blocks_; }
  /// RSS with kHeapFloorBytes: a witness of a heap that malloc does not tell of.
  [[nodiscard]] const Trend& resident() const { return resident_; }
  /// active - live of a GPU: freed, and waiting for a stream.
  [[nodiscard]] const Trend& waiting(Device device) const;
  /// Running total of what only our forced collections freed on a device.
  [[nodiscard]] const Trend& collected(Device device) const;
  [[nodiscard]] std::vector<Device> devices() const;

 private:
  StepRange judged_;
  std::map<SeriesKey, Trend> ledgers_;
  std::map<Device, Trend> waiting_;
  std::map<Device, Trend> collected_;
  Trend heap_;
  Trend supported_heap_;
  Trend light_heap_;
  Trend light_blocks_;
  Trend resident_;
  std::map<SeriesKey, Decay> decays_;
};

/// Running total of what only a forced collection freed on a device, one value a step.
[[nodiscard]] std::vector<std::int64_t> collected_bytes(const Trace& trace, Device device, StepRange range);

}  // namespace stepleak
