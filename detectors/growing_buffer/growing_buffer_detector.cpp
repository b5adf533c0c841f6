// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "detectors/growing_buffer/growing_buffer_detector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "harness/analyse/storage_growth.hpp"
#include "harness/analyse/suspects.hpp"
#include "harness/base/bytes.hpp"

namespace stepleak {
namespace {

// The newest lineage: the largest survivor of the last step, which is the buffer as it is now.
std::vector<const Survivor*> newest_buffer(const Recording& recording, Device device) {
  const Survivor* largest = nullptr;
  for (const auto& survivor : recording.survivors) {
    if (survivor.type != SurvivorType::block || survivor.device != device) continue;
    if (largest == nullptr || survivor.bytes > largest->bytes) largest = &survivor;
  }
  if (largest == nullptr) return {};
  // The tensor over it knows operator and holder; the block knows only the place. Of buffers of one size, such as keys
  // and values, the one whose tensor was made first is named in every run.
  std::map<std::uint64_t, const Survivor*> as_large;
  for (const auto& survivor : recording.survivors) {
    const bool is_block = survivor.type == SurvivorType::block && survivor.device == device;
    if (is_block && survivor.bytes == largest->bytes) as_large.emplace(survivor.storage, &survivor);
  }
  const auto tensors = survivors_where(recording, [&](const Survivor& s) {
    return s.type == SurvivorType::tensor && s.device == device && as_large.contains(s.storage);
  });
  if (!tensors.empty()) largest = as_large.at(tensors.front()->storage);
  std::vector<const Survivor*> suspects;
  for (const auto* tensor : tensors) {
    if (tensor->storage == largest->storage) suspects.push_back(tensor);
  }
  suspects.push_back(largest);
  return suspects;
}

// Who held the buffer as it was before the last step, of which a call that is not over may hold it.
int earlier_holder(const Recording& recording, Device device, std::int64_t bytes, double per_step) {
  const auto is_earlier = [&](const Survivor& s) {
    const bool is_its = s.type == SurvivorType::tensor && s.device == device && s.holder >= 0;
    return is_its && s.storage_bytes <= bytes &&
           static_cast<double>(s.storage_bytes) >= static_cast<double>(bytes) - 2 * per_step;
  };
  const auto earlier = survivors_where(recording, is_earlier);
  return earlier.empty() ? -1 : earlier.back()->holder;
}

// Of all that was added, what one buffer has at least: a call that is not over has few more of its size.
constexpr std::int64_t kMostOfItsSize = 8;

// What a call that is not over holds may be a copy of the buffer beside more, such as all that is scored: of what
// others hold, what joins what there was with what is new. Empty where none does, or only a window, which does not grow
// with what is added.
std::vector<const Survivor*> held_join(const Recording& recording, Device device, std::int64_t added_bytes) {
  static const std::set<std::string, std::less<>> joins{"aten::cat",    "aten::concat", "aten::concatenate",
                                                        "aten::hstack", "aten::vstack", "aten::constant_pad_nd"};
  const Survivor* largest = nullptr;
  for (const auto* tensor : survivors_where(recording, [&](const Survivor& s) {
         return s.type == SurvivorType::tensor && s.device == device && s.holder >= 0 && joins.contains(s.op);
       })) {
    if (largest == nullptr || tensor->storage_bytes > largest->storage_bytes) largest = tensor;
  }
  if (largest == nullptr || kMostOfItsSize * largest->storage_bytes < added_bytes) return {};
  return {largest};
}

}  // namespace

std::vector<Finding> GrowingBufferDetector::detect(const Evidence& evidence) const {
  std::vector<Finding> findings;
  for (const auto& growth : storage_growths_of(evidence)) {
    if (growth.cause != StorageGrowth::Cause::buffer) continue;
    const auto newest = newest_buffer(evidence.recording, growth.device);
    auto finding = storage_finding(evidence.recording, growth, kind(), newest);
    if (finding.holder_index < 0 && !newest.empty()) {
      const auto bytes = newest.back()->bytes;
      const auto steps = evidence.recording.pass.first_step - finding.since_step;
      const auto added = static_cast<std::int64_t>(finding.bytes_per_step * static_cast<double>(steps));
      const auto holder = earlier_holder(evidence.recording, growth.device, bytes, finding.bytes_per_step);
      if (holder >= 0) {
        set_holder(evidence.recording, holder, finding);
      } else if (const auto join = held_join(evidence.recording, growth.device, added); !join.empty()) {
        finding = storage_finding(evidence.recording, growth, kind(), join);
      }
    }
    finding.what = fmt::format("a buffer is made anew {} larger every step since step {}",
                               format_bytes(finding.bytes_per_step), finding.since_step);
    finding.kept_count = finding.explained_steps = 0;  // one buffer at a time: nothing is kept of each step
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace stepleak
