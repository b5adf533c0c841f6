// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace stepleak {

/// A text as a gzip file (RFC 1952) without name and time: the same text gives the same bytes.
[[nodiscard]] std::string gzipped(std::string_view text);

/// The text of a gzip file. Throws a failure error where the bytes are none, are cut short, or go on behind its end.
[[nodiscard]] std::string gunzipped(std::string_view bytes);

struct Unfolded {
  std::string text;
  bool is_cut = false;  ///< the file ended before its text did
};

/// The same, as far as the file goes. Throws where nothing of it is there, or what is there is damaged.
[[nodiscard]] Unfolded gunzipped_so_far(std::string_view bytes);

}  // namespace stepleak
