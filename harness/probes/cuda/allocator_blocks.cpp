// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/cuda/allocator_blocks.hpp"

#include <c10/cuda/CUDACachingAllocator.h>
#include <torch/csrc/profiler/combined_traceback.h>

#include <utility>

#include "harness/probes/torch/compat/allocator_history.hpp"
#include "harness/probes/torch/compat/allocator_snapshot.hpp"

namespace stepleak {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

// What a block carries while stacks are recorded. It is a traceback of torch's own kind (an empty one), so that a
// user's snapshot later on can still print it.
struct BlockContext final : torch::CapturedTraceback {
  StackCapture capture;
};

// torch calls it before it takes the allocator's lock, and may destroy the context under that.
std::shared_ptr<c10::GatheredContext> gather_context() {
  auto context = std::make_shared<BlockContext>();
  context->capture = capture_operator_stack();
  return context;
}

// The allocator has one recorder a process.
bool is_recorder_ours = false;

}  // namespace

// A block's address is that of its segment plus the blocks before it.
std::vector<AllocatorBlock> blocks_in_use(std::size_t device) {
  std::vector<AllocatorBlock> blocks;
  for (const auto& segment : allocator_segments()) {
    if (static_cast<std::size_t>(segment.device) != device) continue;
    auto address = static_cast<std::uintptr_t>(segment.address);
    for (const auto& block : segment.blocks) {
      if (block.active) {
        blocks.push_back({address, static_cast<std::int64_t>(block.size), !block.allocated,
                          capture_of(block.context_when_allocated)});
      }
      address += block.size;
    }
  }
  return blocks;
}

std::vector<const void*> streams_with_segments(std::size_t device) {
  std::vector<const void*> streams;
  for (const auto& segment : allocator_segments()) {
    if (static_cast<std::size_t>(segment.device) == device) streams.push_back(segment.stream);
  }
  return streams;
}

void record_allocation_stacks(bool is_recording) {
  if (!is_recording) {
    if (is_recorder_ours) record_contexts(nullptr);
    is_recorder_ours = false;
  } else if (!allocator::isHistoryEnabled()) {
    record_contexts(&gather_context);
    is_recorder_ours = true;
  }
}

StackCapture capture_of(const std::shared_ptr<c10::GatheredContext>& context) {
  if (const auto ours = std::dynamic_pointer_cast<BlockContext>(context)) return ours->capture;
  if (auto users = std::dynamic_pointer_cast<torch::CapturedTraceback>(context)) {
    return std::make_shared<const CapturedStack>(CapturedStack{.python = std::move(users)});
  }
  return nullptr;
}

}  // namespace stepleak
