// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Of an installed Python package: all parts in its folder, wherever that is.

#include <dlfcn.h>

#include "harness/cli/layout.hpp"

namespace stepleak {

Layout own_layout() {
  Dl_info here{};
  // The loader names this library by the path that the interpreter found it at.
  ::dladdr(reinterpret_cast<const void*>(&own_layout), &here);
  const auto package = std::filesystem::absolute(here.dli_fname).parent_path();
  return {.package_folder = package.parent_path(),
          .observing = package / "libstepleak_observing.so",
          .repair = "install stepleak anew: pip install --force-reinstall --no-deps stepleak"};
}

}  // namespace stepleak
