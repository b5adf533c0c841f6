// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "harness/trace/handle_type.hpp"
#include "harness/trace/result.hpp"
#include "harness/trace/trial.hpp"

namespace stepleak {
namespace {

// In the order of the enumerators; the static_asserts below catch a forgotten name.
constexpr std::array kCounters{std::string_view("live_bytes"),
                               std::string_view("live_blocks"),
                               std::string_view("peak_bytes"),
                               std::string_view("live_nodes"),
                               std::string_view("live_tensors"),
                               std::string_view("python_objects"),
                               std::string_view("heap_bytes"),
                               std::string_view("resident_bytes"),
                               std::string_view("requested_bytes"),
                               std::string_view("active_bytes"),
                               std::string_view("reserved_bytes"),
                               std::string_view("segment_count"),
                               std::string_view("largest_free_block_bytes"),
                               std::string_view("inactive_split_bytes"),
                               std::string_view("private_pool_bytes"),
                               std::string_view("pinned_bytes"),
                               std::string_view("outside_bytes"),
                               std::string_view("shared_bytes"),
                               std::string_view("python_blocks"),
                               std::string_view("mapped_bytes"),
                               std::string_view("cuda_objects"),
                               std::string_view("children_bytes"),
                               std::string_view("frozen_deaths")};
static_assert(kCounters.size() == kCounterCount);

constexpr std::array kKinds{std::string_view("growth"),
                            std::string_view("graph_retention"),
                            std::string_view("attached_activation"),
                            std::string_view("detached_activation"),
                            std::string_view("growing_buffer"),
                            std::string_view("view_pins_storage"),
                            std::string_view("reference_cycle"),
                            std::string_view("optimizer_state"),
                            std::string_view("fragmentation_drift"),
                            std::string_view("stuck_free"),
                            std::string_view("pinned_host"),
                            std::string_view("raw_cuda"),
                            std::string_view("host_heap")};
static_assert(kKinds.size() == kKindCount);

constexpr std::array kCounted{std::string_view(""),
                              std::string_view("blocks"),
                              std::string_view("tensors"),
                              std::string_view("autograd nodes"),
                              std::string_view("python objects"),
                              std::string_view("python blocks"),
                              std::string_view("cuda objects"),
                              std::string_view("segments")};
static_assert(kCounted.size() == kCountedCount);

constexpr std::array kHandleTypes{std::string_view(""),
                                  std::string_view("device memory"),
                                  std::string_view("virtual memory"),
                                  std::string_view("pinned memory"),
                                  std::string_view("array"),
                                  std::string_view("memory pool"),
                                  std::string_view("stream"),
                                  std::string_view("event"),
                                  std::string_view("graph definition"),
                                  std::string_view("graph"),
                                  std::string_view("module"),
                                  std::string_view("library"),
                                  std::string_view("texture"),
                                  std::string_view("surface"),
                                  std::string_view("segment"),
                                  std::string_view("first segment"),
                                  std::string_view("private segment"),
                                  std::string_view("waiting block")};
static_assert(kHandleTypes.size() == kHandleTypeCount);

constexpr std::array kVerdicts{std::string_view("clean"), std::string_view("leak"), std::string_view("inconclusive"),
                               std::string_view("failure")};

constexpr std::array kPassTypes{std::string_view("screen"), std::string_view("record"), std::string_view("fill")};

constexpr std::array kTrialOutcomes{std::string_view("ended"), std::string_view("eased"), std::string_view("in vain"),
                                    std::string_view("raised")};
static_assert(kTrialOutcomes.size() == kTrialOutcomeCount);

constexpr std::array kMarkTypes{std::string_view("epoch"), std::string_view("evaluation")};

template <typename Enum, std::size_t N>
std::optional<Enum> parse(const std::array<std::string_view, N>& names, std::string_view name) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(Counter counter) { return kCounters.at(static_cast<std::size_t>(counter)); }
std::optional<Counter> parse_counter(std::string_view name) { return parse<Counter>(kCounters, name); }

bool is_exact(Counter counter) {
  switch (counter) {
    case Counter::heap_bytes:
    case Counter::resident_bytes:
    case Counter::pinned_bytes:
    case Counter::outside_bytes:
    case Counter::shared_bytes:
    case Counter::python_blocks:
    case Counter::mapped_bytes:
    case Counter::cuda_objects:
    case Counter::children_bytes:
    case Counter::frozen_deaths:
      return false;
    default:
      return true;
  }
}

std::string to_string(const SeriesKey& key) {
  return fmt::format("{}@{}{}", to_string(key.counter), to_string(key.device),
                     key.moment == Moment::before_collection ? "/before" : "");
}

std::string_view to_string(Kind kind) { return kKinds.at(static_cast<std::size_t>(kind)); }
std::optional<Kind> parse_kind(std::string_view name) { return parse<Kind>(kKinds, name); }

std::string_view to_string(Counted counted) { return kCounted.at(static_cast<std::size_t>(counted)); }
std::optional<Counted> parse_counted(std::string_view name) { return parse<Counted>(kCounted, name); }

std::string_view to_string(HandleType type) { return kHandleTypes.at(static_cast<std::size_t>(type)); }
std::optional<HandleType> parse_handle_type(std::string_view name) { return parse<HandleType>(kHandleTypes, name); }

bool is_of_allocator(HandleType type) { return type == HandleType::pinned_memory || type >= HandleType::segment; }

std::string_view to_string(PassType type) { return kPassTypes.at(static_cast<std::size_t>(type)); }
std::optional<PassType> parse_pass_type(std::string_view name) { return parse<PassType>(kPassTypes, name); }

std::string_view to_string(TrialOutcome outcome) { return kTrialOutcomes.at(static_cast<std::size_t>(outcome)); }
std::optional<TrialOutcome> parse_trial_outcome(std::string_view name) {
  return parse<TrialOutcome>(kTrialOutcomes, name);
}

std::string_view to_string(MarkType type) { return kMarkTypes.at(static_cast<std::size_t>(type)); }
std::optional<MarkType> parse_mark_type(std::string_view name) { return parse<MarkType>(kMarkTypes, name); }

std::string_view to_string(Verdict verdict) { return kVerdicts.at(static_cast<std::size_t>(verdict)); }
std::optional<Verdict> parse_verdict(std::string_view name) { return parse<Verdict>(kVerdicts, name); }

ExitCode exit_code(Verdict verdict) {
  switch (verdict) {
    case Verdict::clean:
      return ExitCode::clean;
    case Verdict::leak:
      return ExitCode::leak;
    case Verdict::inconclusive:
      return ExitCode::inconclusive;
    case Verdict::failure:
      break;
  }
  return ExitCode::failure;
}

}  // namespace stepleak
