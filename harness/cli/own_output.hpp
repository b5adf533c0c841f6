// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

namespace stepleak {

/// Whether a file begins as those that we write do: JSON (SARIF too), XML, a page, a gzip file (a trace).
[[nodiscard]] bool begins_as_output(std::string_view beginning);

/// Whether a file is there that we cannot have written: a regular one, not empty, that begins otherwise. Says
/// nothing of links, devices and pipes. Throws a failure error where it cannot be read.
[[nodiscard]] bool is_of_others(const std::filesystem::path& file);

}  // namespace stepleak
