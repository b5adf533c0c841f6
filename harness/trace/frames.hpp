// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/trace/survivor.hpp"

namespace stepleak {

[[nodiscard]] std::string_view to_string(FrameOwner owner);
[[nodiscard]] std::optional<FrameOwner> parse_frame_owner(std::string_view name);

/// What a report shows of a stack: the user's frames, innermost first, then what of the libraries below them took the
/// memory, folded into its innermost frame. Without a frame of the user's the libraries' frames: a leak in a trainer's
/// library is worth naming. Where there are Python frames the C++ ones are bindings below them.
[[nodiscard]] std::vector<Frame> where_of(const std::vector<Frame>& stack);

/// The frames that tell a place: the user's, or the libraries' where there are none.
[[nodiscard]] std::vector<Frame> telling_frames(const std::vector<Frame>& frames);

/// Of these the ones that tell one leak from another in any run: those that were seen, and not found in the sources;
/// and none of a list's, set's or dict's comprehension, which have no frame from Python 3.12 on (PEP 709).
[[nodiscard]] std::vector<Frame> fingerprint_frames(const std::vector<Frame>& frames);

/// Whether one of the frames is the user's.
[[nodiscard]] bool has_user_frame(const std::vector<Frame>& frames);

/// A key for where these frames are, of those that tell: captures differ by step even where the place is the same.
/// Empty where nothing tells.
[[nodiscard]] std::string place_of(const std::vector<Frame>& frames);

}  // namespace stepleak
