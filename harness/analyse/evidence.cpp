// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/analyse/evidence.hpp"

namespace stepleak {

const Recording& recording_after_look(const Trace& trace) {
  static const Recording kNone;
  const bool is_any = !trace.recordings().empty();
  return is_any && trace.recordings().back().pass.first_step > judged_steps(trace).last ? trace.recording() : kNone;
}

}  // namespace stepleak
