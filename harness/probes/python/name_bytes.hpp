// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace stepleak {

/// A Python text (`PyObject*`) as bytes, as `os.fsencode()` has them: the name of a file need not be UTF-8, nor that of
/// an attribute. What no file can be called by has its surrogates escaped. With the GIL.
[[nodiscard]] std::string name_bytes(void* text);

}  // namespace stepleak
