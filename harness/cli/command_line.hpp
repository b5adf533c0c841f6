// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stepleak {

/// The command line from its arguments to its exit code; prints what goes wrong. Its host is a program (program.cpp) or
/// the user's interpreter (python_host.cpp), which calls set_layout() before.
[[nodiscard]] int command_line(int argc, char** argv);

}  // namespace stepleak
