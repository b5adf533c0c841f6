// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace stepleak {

/// File names, without folders.
using SourceNames = std::set<std::string, std::less<>>;

/// Whether a file by this name is compiled by itself (".cpp", ".cc" and the like): no header, and no CUDA source, which
/// is often compiled without debug information beside C++ that has it.
[[nodiscard]] bool is_unit_of_cpp(std::string_view path);

/// The sources that an object file (ELF, 64 bit) names: in its debug information (DWARF 4 and 5) and among its symbols,
/// which name each file that was compiled (STT_FILE). None of what is stripped, or where its debug information is
/// compressed. `object`: its bytes.
[[nodiscard]] SourceNames sources_named_in(std::string_view object);

/// The same of the program and of all libraries that are loaded into it, but for our own and torch's.
[[nodiscard]] SourceNames linked_sources();

}  // namespace stepleak
