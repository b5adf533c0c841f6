// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/trace/finding.hpp"

namespace stepleak {

/// One sentence on what to change, with the user's own expression where it is known.
[[nodiscard]] std::string fix_for(const Finding& finding);

/// 16 hex digits, by the rule kFingerprintRule, over kind, the user's frames (file name and function, no line) and the
/// holder's shape: the same over runs, machines, folders and line shifts.
[[nodiscard]] std::string fingerprint_of(const Finding& finding);

}  // namespace stepleak
