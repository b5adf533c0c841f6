// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/observing.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "harness/base/errors.hpp"

namespace stepleak {

Observing& observing() {
  static Observing* const loaded = [] {
    // Global: Python's extension modules look for the interpreter's symbols among those of the program.
    void* library = ::dlopen(STEPLEAK_OBSERVING, RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
      throw failure_error(fmt::format("what observes steps cannot be loaded: {}", ::dlerror()),
                          "is torch where it was when this was built? run ci/setup, then ci/build");
    }
    auto* make = reinterpret_cast<Observing* (*)()>(::dlsym(library, "stepleak_observing"));
    if (make == nullptr) {
      throw failure_error(fmt::format("{} is another stepleak's", STEPLEAK_OBSERVING), "build it again: ci/build");
    }
    return make();
  }();
  return *loaded;
}

}  // namespace stepleak
