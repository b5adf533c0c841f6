// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace stepleak {

/// The whole file. Throws a failure error with the system's reason.
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

/// Writes a file whole or not at all: a full disk or a crash leaves the old file as it was.
/// Makes the parent folders. Throws a failure error naming the file, the reason and a remedy.
void write_file(const std::filesystem::path& path, std::string_view text);

/// FNV-1a (64 bit) of a text as 16 hex digits: a stable name, no protection against forgery.
[[nodiscard]] std::string fnv1a_hex(std::string_view text);

}  // namespace stepleak
