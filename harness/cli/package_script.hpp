// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace stepleak {

/// What a script of the package, such as "_known.py", prints when the interpreter runs it alone: it reads TOML. Throws
/// a failure error, which begins with `what`, where it does not run.
[[nodiscard]] std::string output_of_script(const std::string& script, const std::vector<std::string>& arguments,
                                           const std::string& what, const std::string& input = {});

}  // namespace stepleak
