// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/trace/survivor.hpp"

namespace stepleak {

/// The user's frames of a stack, innermost first. Where there are Python frames the C++ ones are bindings below them.
[[nodiscard]] std::vector<Frame> user_frames(const std::vector<Frame>& stack);

/// A key for where these frames are: captures differ by step even where the place is the same. Empty without frames.
[[nodiscard]] std::string place_of(const std::vector<Frame>& frames);

}  // namespace stepleak
