// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/sources/cpp_reach.hpp"

namespace stepleak {

/// Whether a statement, or the test of an `if`, is never run while steps run, since a flag shuts it off: it is asked
/// for (`if (sealed_ && ...)`), begins as the opposite where it is declared (`bool sealed_ = false;`), and what changes
/// it is called by nobody, or only behind the loop over the steps (CppStep::loops).
[[nodiscard]] bool is_shut_off(const TokenAt& at, const CppStep& step, const CppNames& names);

}  // namespace stepleak
