// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "harness/trace/result.hpp"

namespace stepleak {

struct ConsoleOptions {
  bool use_colours = false;  ///< and the source lines underlined
  std::size_t columns = 0;   ///< of the terminal: longer lines go on below, between two words; 0: it is none
};

/// What a person reads: one line where clean, some ten where not. Ends with a newline.
[[nodiscard]] std::string to_console(const Result& result, const ConsoleOptions& options = {});

/// One more line of such a report: "  steps   64, each of ...".
[[nodiscard]] std::string report_line(std::string_view label, const std::string& text, const ConsoleOptions& options);

/// "no leak in 64 steps" and the like, without the target: for assertion messages and tables.
[[nodiscard]] std::string summary_of(const Result& result);

/// One line of text behind what stands before it, broken between words where a terminal has fewer columns; further rows
/// begin below its first word. 0 columns: nothing is broken.
[[nodiscard]] std::string hanging_text(const std::string& before, const std::string& text, std::size_t columns);

}  // namespace stepleak
