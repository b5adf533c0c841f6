// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/trace/survivor.hpp"

namespace stepleak {

/// Whether the calling thread holds the GIL; false without an interpreter. Takes no lock. (PyGILState_Check() answers
/// yes to anybody once there has been a sub-interpreter.)
[[nodiscard]] bool holds_gil();

/// The Python frames of the calling thread, which need not hold the GIL, as the interpreter itself writes them for
/// faulthandler: its own frames cannot change meanwhile, and no lock is taken. Some tens of microseconds. Empty where
/// the thread has none, in a Python that offers no such function (3.13, 3.14), and where no file may be as large as
/// 128 KiB (RLIMIT_FSIZE).
[[nodiscard]] std::string write_python_frames();

/// Reads what write_python_frames() gave: innermost frame first.
[[nodiscard]] std::vector<Frame> parse_python_frames(std::string_view text);

}  // namespace stepleak
