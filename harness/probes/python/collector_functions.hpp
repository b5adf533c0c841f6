// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>

namespace stepleak {

/// What Python's module `gc` had before the first step: a step that replaces its functions, or forgets modules, is
/// judged as any other, and what was set apart is given back.
struct CollectorFunctions {
  pybind11::object collect = pybind11::module_::import("gc").attr("collect");
  pybind11::object freeze = pybind11::module_::import("gc").attr("freeze");
  pybind11::object unfreeze = pybind11::module_::import("gc").attr("unfreeze");
  pybind11::object freeze_count = pybind11::module_::import("gc").attr("get_freeze_count");
  pybind11::object objects = pybind11::module_::import("gc").attr("get_objects");
  pybind11::object threshold = pybind11::module_::import("gc").attr("get_threshold");
  pybind11::object count = pybind11::module_::import("gc").attr("get_count");
  pybind11::object stats = pybind11::module_::import("gc").attr("get_stats");
  pybind11::object get_debug = pybind11::module_::import("gc").attr("get_debug");
  pybind11::object set_debug = pybind11::module_::import("gc").attr("set_debug");
  pybind11::object garbage = pybind11::module_::import("gc").attr("garbage");
  int save_all = pybind11::module_::import("gc").attr("DEBUG_SAVEALL").cast<int>();
};

/// As they were at the first call. Never given back, since the interpreter may be gone before them. With the GIL.
inline const CollectorFunctions& gc() {
  static const CollectorFunctions& functions = *new CollectorFunctions;
  return functions;
}

/// Collections in this process so far, whoever asked for them.
struct CollectionCounts {
  std::int64_t full = 0;  ///< of the oldest generation: of all that is not set apart
  std::int64_t all = 0;   ///< of all generations
};

/// With the GIL.
inline CollectionCounts collections_in_process() {
  CollectionCounts counts;
  for (const auto& generation : gc().stats()) {
    counts.full = generation["collections"].cast<std::int64_t>();
    counts.all += counts.full;
  }
  return counts;
}

}  // namespace stepleak
