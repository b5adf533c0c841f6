// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/observing.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "harness/base/errors.hpp"
#include "harness/cli/layout.hpp"

namespace stepleak {

Observing& observing() {
  static Observing* const loaded = [] {
    const auto other = layout().before_observing ? layout().before_observing() : std::filesystem::path();
    const auto& file = other.empty() ? layout().observing : other;
    void* library = ::dlopen(file.c_str(), RTLD_NOW);
    if (library == nullptr) {
      throw failure_error(fmt::format("what observes steps cannot be loaded: {}", ::dlerror()), layout().repair);
    }
    auto* make = reinterpret_cast<Observing* (*)(const Layout&)>(::dlsym(library, "stepleak_observing"));
    if (make == nullptr) {
      throw failure_error(fmt::format("{} is another stepleak's", file.string()), layout().repair);
    }
    return make(layout());
  }();
  return *loaded;
}

}  // namespace stepleak
