// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/host/child_probe.hpp"

#include "harness/probes/host/child_memory.hpp"

namespace stepleak {

void ChildProbe::read(Moment moment, std::span<std::int64_t> row) {
  if (moment != Moment::after_collection || !is_due()) return;
  const auto bytes = child_memory_bytes();
  has_seen_one_ = has_seen_one_ || bytes.has_value();
  if (has_seen_one_) row[0] = bytes.value_or(0);
}

}  // namespace stepleak
