// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/drive/step.hpp"
#include "harness/session/session.hpp"

namespace stepleak {

/// The driver that owns the loop: calls the step until the session has seen enough. What the step throws ends the run
/// with its evidence kept; so does what the harness itself throws after the first step. Wrong use, which only the call
/// of a step can show, passes through. A child that
/// the step forked, and that comes back from it, gets a failure; the parent's run goes on.
[[nodiscard]] RunRecord repeat(const Step& step, Session& session);

}  // namespace stepleak
