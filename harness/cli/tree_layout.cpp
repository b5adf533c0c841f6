// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Of a build tree: everything where it was built.

#include "harness/base/source_root.hpp"
#include "harness/cli/layout.hpp"

namespace stepleak {

Layout own_layout() {
  return {.package_folder = STEPLEAK_PACKAGE_FOLDER,
          .observing = STEPLEAK_OBSERVING,
          .compiled_scenarios = STEPLEAK_COMPILED_SCENARIOS,
          .suite = STEPLEAK_SOURCE_ROOT,
          .python = STEPLEAK_PYTHON,
          .repair = "run ci/setup, then ci/build"};
}

}  // namespace stepleak
