// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stepleak {

/// Events that must be expected by chance before few of them say something. Where seven are, none or one is seen in one
/// of 137 runs, and two or fewer in one of 34 (Poisson).
inline constexpr double kExpectedEvents = 7;

}  // namespace stepleak
