// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace stepleak {

/// File name of the library that the code at `address` is of: "libcudnn_graph.so.9"; the program's own for its code,
/// empty where there is none (null, made at run time). Takes the loader's lock.
[[nodiscard]] std::string library_of(const void* address);

}  // namespace stepleak
