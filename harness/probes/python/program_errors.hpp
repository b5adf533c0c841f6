// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stepleak {

/// Of what our own Python code raised, and we go on without: says so as Python does of a finalizer. What a handler of a
/// signal raised in it, as Ctrl-C does, is the program's: it is kept for it, and raised once we are done.
/// `error`: a `py::error_already_set*`. Needs the GIL.
void discard(void* error, const char* doing);

}  // namespace stepleak
