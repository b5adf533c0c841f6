// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace stepleak {

/// The text with '?' for each control character but newline and tab: what a step printed must neither drive a terminal
/// nor break a file.
[[nodiscard]] std::string printable(std::string text);

}  // namespace stepleak
