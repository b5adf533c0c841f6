// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "harness/base/descriptor.hpp"

namespace stepleak {

/// The whole file. Throws a failure error with the system's reason, and for what is no regular file (a pipe would be
/// waited for) or larger than a gibibyte (no file that we read is).
[[nodiscard]] std::string read_file(const std::filesystem::path& path);

/// What a file begins with, `most` bytes of it. Throws as read_file(), whatever its size.
[[nodiscard]] std::string read_beginning(const std::filesystem::path& path, std::size_t most);

/// The path that stands for the standard output.
inline constexpr std::string_view kStandardOutput = "-";

/// Writes a file whole or not at all: a full disk or a crash leaves the old file as it was, and its mode stays.
/// A device or a pipe is written to. Makes the parent folders. Throws a failure error naming the file, the reason and a
/// remedy; so for a symbolic link, which may lead to a file that is not meant.
void write_file(const std::filesystem::path& path, std::string_view text);

/// Throws what write_file() would, as far as it shows without writing: before minutes of work, not after.
void check_writable(const std::filesystem::path& path);

/// Waits for the others that hold it: for the time in which a file is read, changed and written, by one process at a
/// time. It is the folder's that the file is in, and lasts until it is closed; where the file system has no locks, or
/// the folder is not there yet, it holds nobody up.
[[nodiscard]] Descriptor lock_of_folder(const std::filesystem::path& path);

/// FNV-1a (64 bit) of a text as 16 hex digits: a stable name, no protection against forgery.
[[nodiscard]] std::string fnv1a_hex(std::string_view text);

}  // namespace stepleak
