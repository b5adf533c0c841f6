// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace stepleak {

/// How a program ended.
struct ProgramEnd {
  std::string output;  ///< all that it wrote to stdout
  std::string error;   ///< empty where it exited with 0; else why not, in a clause: "exit code 1: bad value"
  std::string remedy;  ///< where the failure is of our files and not the program's; else empty

  [[nodiscard]] bool is_success() const { return error.empty(); }
};

/// Runs a program, found on the PATH, without a shell, hands it `input` on stdin and waits for its end. Input and
/// output pass through files in memory, so their size has no limit and neither side waits for the other. One that takes
/// longer than `most` is killed; what it wrote by then is its output.
[[nodiscard]] ProgramEnd run_program(const std::vector<std::string>& arguments, std::string_view input = {},
                                     std::chrono::milliseconds most = std::chrono::hours(24));

}  // namespace stepleak
