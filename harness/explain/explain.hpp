// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/trace/finding.hpp"
#include "harness/trace/recording.hpp"
#include "harness/trace/trial.hpp"

namespace stepleak {

/// One sentence on what to change, with the user's own expression where it is known, and what became of it where it was
/// tried: a statement that did not help, or that raised, is none to follow. `recording`: that of the finding's holder.
[[nodiscard]] std::string fix_for(const Finding& finding, const Recording& recording,
                                  const std::vector<Trial>& trials = {});

/// What makes the user's statement the one that fix_for() names, that of what is kept first; none where it names none.
[[nodiscard]] std::vector<Correction> corrections_for(const Finding& finding, const Recording& recording);

/// 16 hex digits, by the rule kFingerprintRule, over kind, the user's frames (file name and function, no line) and the
/// holder's shape: the same over runs, machines, folders and line shifts.
[[nodiscard]] std::string fingerprint_of(const Finding& finding);

}  // namespace stepleak
