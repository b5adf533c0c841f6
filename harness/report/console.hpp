// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/trace/result.hpp"

namespace stepleak {

struct ConsoleOptions {
  bool use_colours = false;
  std::string more;  ///< files with the rest, for the last line; empty: none
};

/// What a person reads: one line where clean, some ten where not. Ends with a newline.
[[nodiscard]] std::string to_console(const Result& result, const ConsoleOptions& options = {});

/// "no leak in 64 steps" and the like, without the target: for assertion messages and tables.
[[nodiscard]] std::string summary_of(const Result& result);

}  // namespace stepleak
