// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace stepleak {

/// Whether a file begins as those that we write do: JSON (SARIF too), XML, a page, a gzip file (a trace).
[[nodiscard]] bool begins_as_output(std::string_view beginning);

/// Whether a file is there that we cannot have written: a regular one, not empty, that begins otherwise. Says
/// nothing of links, devices and pipes. Throws a failure error where it cannot be read.
[[nodiscard]] bool is_of_others(const std::filesystem::path& file);

/// A usage error where an output is source code, a file that is judged or that we did not write, or named twice; a
/// failure error where one cannot be written. `outputs`: those that are empty are not asked for. Before a run: its
/// results shall not be lost.
void check_outputs(const std::vector<std::string>& outputs, const std::vector<std::string>& judged_files);

}  // namespace stepleak
