// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/host/host_probe.hpp"

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
  return keys;
}

void HostProbe::read(Moment moment, std::span<std::int64_t> row) {
  if (moment != Moment::after_collection) return;
  const auto pages = process_pages();
  row[1] = shared_.bytes(pages.mapped);
  if (!is_due()) return;
  row[0] = pages.resident;
  if (heap_.is_seen()) row[2] = heap_.bytes_in_use();
}

}  // namespace stepleak
