// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/trace/recording.hpp"

namespace stepleak {

bool Recording::is_recorded(std::int64_t step) const {
  const auto last_planned = pass.first_step + pass.planned_steps - 1;
  return pass.first_step <= step && step < pass.first_step + steps && (last_planned - step) % pass.stride == 0;
}

bool Recording::is_proof(std::int64_t step) const {
  return is_recorded(step) && step < pass.first_step + steps - pass.young_steps;
}

bool Recording::is_handed_on(const Survivor& survivor) const {
  return survivor.has_graph && !survivor.is_sink && !is_proof(survivor.birth_step);
}

std::int64_t Recording::recorded_steps() const {
  std::int64_t count = 0;
  for (auto step = pass.first_step; step <= last_step(); ++step) count += is_recorded(step) ? 1 : 0;
  return count;
}

std::int64_t Recording::proof_steps() const {
  std::int64_t count = 0;
  for (auto step = pass.first_step; step <= last_step(); ++step) count += is_proof(step) ? 1 : 0;
  return count;
}

bool is_old(const Recording& recording, const Survivor& survivor) {
  return !survivor.is_collected && recording.is_proof(survivor.birth_step);
}

}  // namespace stepleak
