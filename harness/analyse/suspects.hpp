// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/analyse/trend.hpp"
#include "harness/trace/finding.hpp"
#include "harness/trace/recording.hpp"

namespace stepleak {

/// The most entries that a container can hold, by its type, by the sources or as the program declares it; -1: not
/// known.
[[nodiscard]] std::int64_t bound_of(const ObjectNode& container, const Structure& structure);

/// Whether a survivor took the place of another: it lies in a container that was full before the record pass and after
/// it. A ring of 16 keeps each of 16 recorded steps, and is no leak.
[[nodiscard]] bool is_replacement(const Recording& recording, const Survivor& survivor);

/// The survivors that a predicate accepts, in the order of the recording.
[[nodiscard]] std::vector<const Survivor*> survivors_where(const Recording& recording,
                                                           const std::function<bool(const Survivor&)>& is_wanted);

/// Whether it is an old tensor on a device that itself needs what it has of a storage. Not a base that only views keep:
/// torch lets a view keep its base, which needs the whole storage; whoever holds the view does not.
[[nodiscard]] bool needs_storage(const Recording& recording, const Survivor& survivor, Device device);

/// Old survivors that are tensors on a device and own memory there, one a storage: the largest view of it, and of equal
/// ones one that took nothing's place.
[[nodiscard]] std::vector<const Survivor*> old_storages(const Recording& recording, Device device);

/// Whether what a holder's container gained leads to what is made anew in each step: hooks that are registered again
/// and again, of each of which the newest output is kept. None of it is ever old, and there is ever more of it.
[[nodiscard]] bool gains_what_is_renewed(const Recording& recording, const Survivor& survivor);

/// Young survivors that are tensors on a device, in containers as above; one a storage.
[[nodiscard]] std::vector<const Survivor*> renewed_storages(const Recording& recording, Device device);

/// Those that took nothing's place; all, where each did. Of one without a known holder others tell that were made where
/// it was.
[[nodiscard]] std::vector<const Survivor*> without_replacements(const Recording& recording,
                                                                std::vector<const Survivor*> survivors);

/// What a storage takes of its device: a GPU's caching allocator hands out multiples of 512 bytes (kMinBlockSize of
/// torch's c10/cuda/CUDACachingAllocator.cpp), and its ledgers count these.
[[nodiscard]] std::int64_t taken_bytes(const Survivor& survivor);

/// Handles of one type on a device, made in the record pass.
[[nodiscard]] std::vector<const Survivor*> handles_of(const Recording& recording, Device device, HandleType type);

/// Segments that the caching allocator took in the record pass, but for private pools.
[[nodiscard]] std::vector<const Survivor*> segments_taken(const Recording& recording, Device device);

/// CUDA objects of a GPU that were made in the record pass, are old, and are none of torch's allocators' own.
[[nodiscard]] std::vector<const Survivor*> old_cuda_objects(const Recording& recording, Device device);

/// Bytes a step of a GPU's memory that most recorded steps took from the driver by themselves and have not given back:
/// less than the chunks of its account; 0 where only some did.
[[nodiscard]] double raw_bytes_kept(const Recording& recording, Device device);

/// Old blocks on a device, whatever uses them.
[[nodiscard]] std::vector<const Survivor*> old_blocks(const Recording& recording, Device device);

/// Old autograd nodes.
[[nodiscard]] std::vector<const Survivor*> old_nodes(const Recording& recording);

/// Bytes of all old blocks on a device, whatever uses them.
[[nodiscard]] std::int64_t old_block_bytes(const Recording& recording, Device device);

/// Steps of the record pass of which at least one of these is still alive.
[[nodiscard]] std::int64_t steps_kept(const std::vector<const Survivor*>& survivors);

/// Whether a survivor is held by a container that got entries while steps were recorded, and never ends.
[[nodiscard]] bool is_kept_for_ever(const Recording& recording, const Survivor& survivor);

/// The trend that survivors show where no ledger counts their like: growing, if some of both halves of the record pass
/// are alive at its end (a step may carry a few over for a while); else flat.
[[nodiscard]] Trend recorded_trend(const Recording& recording, const std::vector<const Survivor*>& survivors);

/// Adds place, operator, holder and the count of kept steps to a finding: those of the stack from which most
/// bytes (or, without bytes, most survivors) come. Leaves the finding as it is where there are no survivors.
void add_suspects(const Recording& recording, const std::vector<const Survivor*>& suspects, Finding& finding);

/// Of the suspects that stand in the newest step the largest: what a finding shows, of those that its holder keeps
/// where there are such. Null without suspects.
[[nodiscard]] const Survivor* example_of(const std::vector<const Survivor*>& suspects, const Finding& finding);

/// Names one of the recording's holders as what keeps a finding.
void set_holder(const Recording& recording, int index, Finding& finding);

/// The recording's holder that keeps a finding; null where none is known.
[[nodiscard]] const Holder* holder_of(const Finding& finding, const Recording& recording);

/// The place of what has no stack: the statement that keeps it; empty where none was found.
[[nodiscard]] std::vector<Frame> where_kept(const Statement& kept_by);

/// A growth in whole things: "6 blocks" stay of "every step", "1 block" stays of "every 20 steps", "296 autograd nodes"
/// stay of "every 50 steps".
struct GrowthText {
  std::string count;
  std::string every;
  bool is_one = false;
};

/// Of `per_step` things a step, which repeat exactly after `period` steps (0: no such period), or come every `gap`
/// steps or so. Where the numbers are not whole, the text says that it is an average.
[[nodiscard]] GrowthText growth_text(double per_step, std::int64_t period, const std::string& noun,
                                     std::int64_t gap = 1);

/// How many steps apart those of the record pass are that kept some of a finding, on average; 1 where that is not to be
/// told: of fewer than two, or where most did.
[[nodiscard]] std::int64_t gap_between_kept(const Finding& finding);

}  // namespace stepleak
