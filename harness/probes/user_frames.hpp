// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "harness/trace/survivor.hpp"

namespace stepleak {

/// Whether a frame is the user's own code: it has a source line, and its file lies neither in torch, nor
/// in stepleak's harness, nor in the libraries of C++ or Python. `site-packages` of other packages count
/// as the user's: a leak in a trainer library is worth naming.
[[nodiscard]] bool is_user_frame(const Frame& frame);

}  // namespace stepleak
