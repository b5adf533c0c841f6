// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Of `meson install`: relative to the program, so that the prefix may be moved.

#include "harness/cli/layout.hpp"

namespace stepleak {

Layout own_layout() {
  std::error_code unknown;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  const auto folder = (program.parent_path() / STEPLEAK_PACKAGE_FOLDER).lexically_normal();
  return {.package_folder = folder,
          .observing = folder / "stepleak/libstepleak_observing.so",
          .python = STEPLEAK_PYTHON,
          .repair = "install stepleak anew, or name the interpreter with STEPLEAK_PYTHON"};
}

}  // namespace stepleak
