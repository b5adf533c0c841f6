// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/layout.hpp"

#include <cstdlib>

namespace stepleak {
namespace {

Layout& instance() {
  static Layout layout;
  return layout;
}

}  // namespace

void set_layout(Layout layout) {
  if (const auto* python = std::getenv("STEPLEAK_PYTHON"); python != nullptr) layout.python = python;
  instance() = std::move(layout);
}

const Layout& layout() { return instance(); }

void unset_for_import() {
  for (const auto& name : layout().set_for_import) ::unsetenv(name.c_str());
}

}  // namespace stepleak
