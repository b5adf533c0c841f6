// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace stepleak {

/// The objects that gc.freeze() of others had set apart when this was made, so that they can be set apart again after
/// our own freezing: Python's own functions freeze all objects or none. Some hundreds are CPython's (from 3.12 on).
///
/// Made before our first freeze(), it thaws them; that they are frozen again is for our freeze() to do. Needs the GIL
/// at all times. Where nothing is frozen it costs nothing.
class FrozenObjects {
 public:
  FrozenObjects();

  /// Freezes those of them that still live, and no others, all being thawed. What took a dead one's address in the
  /// meantime is taken for it.
  void freeze_again() const;

 private:
  std::vector<std::uintptr_t> addresses_;  // in their order
};

}  // namespace stepleak
