// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stepleak {

/// A function for Python: the variables of a frame as a list of pairs of name and value, those without a value left
/// out; of a frame that runs a module or a class nothing. Unlike `frame.f_locals` before Python 3.13 it makes no dict
/// that keeps the values alive until the function returns.
/// A new reference to a callable (`PyObject*`). Needs the GIL.
[[nodiscard]] void* frame_locals_reader();

}  // namespace stepleak
