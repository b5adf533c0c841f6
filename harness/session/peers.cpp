// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/session/peers.hpp"

#include <algorithm>

namespace stepleak {
namespace {

// Who could stop can go on, and not the other way round.
int priority_of(const Move& move) {
  switch (move.next) {
    case Next::record:
      return 4;
    case Next::go_on:
      return 2;
    case Next::fill:
      return 1;
    case Next::stop:
      break;
  }
  return move.is_leak ? 3 : 0;
}

}  // namespace

Move joint_move(const Move& a, const Move& b) {
  if (priority_of(a) != priority_of(b)) return priority_of(a) > priority_of(b) ? a : b;
  Move joint = a;
  joint.pass.planned_steps = std::max(a.pass.planned_steps, b.pass.planned_steps);
  joint.pass.young_steps = std::max(a.pass.young_steps, b.pass.young_steps);
  if (a.pass.stride != b.pass.stride) joint.pass.stride = 1;
  return joint;
}

}  // namespace stepleak
