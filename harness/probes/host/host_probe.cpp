// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/host/host_probe.hpp"

#include <optional>

#include "harness/base/process_pages.hpp"

namespace stepleak {

std::string HostProbe::gap() const {
  if (heap_.is_seen()) return {};
  return "the host heap is not seen: " + heap_.allocator() +
         " has taken malloc over and tells nothing. What leaks outside tensors shows in Python objects and RSS only: "
         "run without it to judge that";
}

std::vector<SeriesKey> HostProbe::keys() const {
  std::vector<SeriesKey> keys{{Counter::resident_bytes}, {Counter::shared_bytes}};
  if (heap_.is_seen()) keys.emplace_back(Counter::heap_bytes);
  if (sees_mapped_) keys.emplace_back(Counter::mapped_bytes);
  return keys;
}

void HostProbe::read(Moment moment, std::span<std::int64_t> row) {
  if (moment != Moment::after_collection) return;
  if (!is_due() && shared_ == 0) return;
  const auto pages = process_pages();
  if (!is_due()) {
    row[1] = shared_ = mappings_.bytes(pages).shared;
    return;
  }
  const auto heap = heap_.is_seen() ? heap_.bytes() : HeapBytes{};
  const auto mapped = mappings_.bytes(pages, sees_mapped_ ? std::optional(heap.mapped) : std::nullopt);
  row[0] = pages.resident;
  row[1] = shared_ = mapped.shared;
  if (heap_.is_seen()) row[2] = heap.in_use;
  if (sees_mapped_) row[3] = mapped.writable - heap.mapped;
}

}  // namespace stepleak
