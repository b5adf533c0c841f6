// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/trace/ledger.hpp"

#include "harness/base/errors.hpp"

namespace stepleak {

void Ledger::add(std::int64_t step, std::int64_t value) {
  STEPLEAK_EXPECTS(steps_.empty() || steps_.back() < step);
  steps_.push_back(step);
  values_.push_back(value);
}

void Ledger::reserve(std::int64_t readings) {
  steps_.reserve(static_cast<std::size_t>(readings));
  values_.reserve(static_cast<std::size_t>(readings));
}

std::vector<std::int64_t> Ledger::held(std::int64_t first, std::int64_t last) const {
  std::vector<std::int64_t> held;
  if (steps_.empty() || last < first) return held;
  held.reserve(static_cast<std::size_t>(last - first + 1));
  std::size_t reading = 0;
  for (auto step = first; step <= last; ++step) {
    while (reading + 1 < steps_.size() && steps_[reading + 1] <= step) ++reading;
    held.push_back(values_[reading]);
  }
  return held;
}

}  // namespace stepleak
