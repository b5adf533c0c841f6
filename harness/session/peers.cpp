// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/session/peers.hpp"

#include <algorithm>

namespace stepleak {
namespace {

// The more steps a move needs, the sooner it wins: who could stop can go on, and not the other way round.
int priority_of(Next next) {
  switch (next) {
    case Next::go_on:
      return 3;
    case Next::fill:
      return 2;
    case Next::record:
      return 1;
    case Next::stop:
      break;
  }
  return 0;
}

}  // namespace

Move joint_move(const Move& a, const Move& b) {
  if (a.next != b.next) return priority_of(a.next) > priority_of(b.next) ? a : b;
  Move joint = a;
  joint.pass.planned_steps = std::max(a.pass.planned_steps, b.pass.planned_steps);
  joint.pass.young_steps = std::max(a.pass.young_steps, b.pass.young_steps);
  if (a.pass.stride != b.pass.stride) joint.pass.stride = 1;
  return joint;
}

}  // namespace stepleak
