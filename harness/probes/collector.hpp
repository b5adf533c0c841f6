// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace stepleak {

/// Forces a collection of cyclic garbage at a boundary. Without Python there is none to force.
class Collector {
 public:
  virtual ~Collector() = default;
  /// Once after the set-up: collects, then sets the old objects apart so that collect() stays cheap.
  virtual void freeze() = 0;
  /// At a boundary; `is_settled`: one where the run is judged. Where not, a collection that takes long may be left out.
  /// Whether there was any garbage.
  virtual bool collect(bool is_settled) = 0;
  /// Undoes freeze(), so that holders can be searched among all objects.
  virtual void unfreeze() = 0;
  /// Undoes freeze() and collects. How many of the objects that were born since were garbage: what had been set apart
  /// had kept them.
  virtual std::int64_t collect_all() = 0;
  /// From now on freeze() does nothing, and each collection is of all objects.
  virtual void stop_freezing() = 0;
  /// At the end of a run, and of one that failed: what is frozen is what was before the first freeze(). May be called
  /// twice.
  virtual void restore() noexcept = 0;
  /// False where the user's code keeps garbage from it: off and not called now and then, or by gc.freeze() in steps.
  [[nodiscard]] virtual bool is_enabled() const = 0;
};

}  // namespace stepleak
