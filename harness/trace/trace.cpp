// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/trace/trace.hpp"

#include <algorithm>

#include "harness/base/errors.hpp"

namespace stepleak {

void Trace::add_row(std::span<const std::int64_t> row) {
  STEPLEAK_EXPECTS(row.size() == keys_.size());
  values_.insert(values_.end(), row.begin(), row.end());
}

std::int64_t Trace::step_count() const {
  return keys_.empty() ? 0 : static_cast<std::int64_t>(values_.size() / keys_.size());
}

bool Trace::has(const SeriesKey& key) const { return std::find(keys_.begin(), keys_.end(), key) != keys_.end(); }

std::vector<std::int64_t> Trace::series(const SeriesKey& key) const {
  std::vector<std::int64_t> result;
  const auto found = std::find(keys_.begin(), keys_.end(), key);
  if (found == keys_.end()) return result;
  result.reserve(static_cast<std::size_t>(step_count()));
  for (auto i = static_cast<std::size_t>(found - keys_.begin()); i < values_.size(); i += keys_.size()) {
    result.push_back(values_[i]);
  }
  return result;
}

std::vector<Device> Trace::devices() const {
  std::vector<Device> result;
  for (const auto& key : keys_) {
    if (std::find(result.begin(), result.end(), key.device) == result.end()) result.push_back(key.device);
  }
  std::sort(result.begin(), result.end());
  return result;
}

const CohortTable* Trace::cohorts_of(Device device) const {
  for (const auto& table : cohorts) {
    if (table.device == device) return &table;
  }
  return nullptr;
}

bool Trace::is_recorded(std::int64_t step) const {
  const auto last = explained_from + explained_steps - 1;
  return explained_from >= 0 && explained_from <= step && step <= last && (last - step) % explain_stride == 0;
}

bool Trace::is_proof(std::int64_t step) const {
  return is_recorded(step) && step < explained_from + explained_steps - 2;
}

std::int64_t Trace::proof_steps() const {
  std::int64_t count = 0;
  for (auto step = explained_from; step < explained_from + explained_steps; ++step) count += is_proof(step) ? 1 : 0;
  return count;
}

}  // namespace stepleak
