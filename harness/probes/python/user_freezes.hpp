// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace stepleak {

/// Calls of gc.freeze() in the user's steps. What waits there as garbage is set apart with the rest, and stays for
/// good, unless all was collected just before: a collection of ours at the boundary before hides it. All with the GIL.
class UserFreezes {
 public:
  UserFreezes() = default;
  ~UserFreezes();
  UserFreezes(const UserFreezes&) = delete;
  UserFreezes& operator=(const UserFreezes&) = delete;

  /// Before a collection of ours.
  void before_collection();
  /// After it; `objects`: what gc.get_objects() gives, a list, as a `PyObject*`.
  void after_collection(void* objects);
  /// After a freeze of ours, and before the first step.
  void begin_anew();

  /// Whether what only our collections freed would have stayed: such calls go on, and come sooner than a collection
  /// of Python's own would.
  [[nodiscard]] bool keep_garbage() const {
    return freezes_ > 1 && since_newest_ <= 2 * longest_gap_ && allocations_ <= (freezes_ - collections_) * threshold_;
  }

 private:
  /// A tracked object that is younger than our newest freeze: what sets it apart is a freeze of the user's.
  void* newborn_ = nullptr;
  bool has_frozen_ = false;
  std::int64_t freezes_ = 0;       ///< behind the first, of those before which the user's code had not collected
  std::int64_t since_newest_ = 0;  ///< collections of ours, from the newest of these on
  std::int64_t longest_gap_ = 0;   ///< from one of these to the next
  std::int64_t collections_ = 0;   ///< of ours since the first, before which there were others
  std::int64_t allocations_ = 0;   ///< of tracked objects since the first, less those freed, as ours found them
  std::int64_t threshold_ = 0;     ///< at how many of these Python collects
  bool has_collected_ = false;     ///< the user's code, all objects, since our newest collection
  std::int64_t full_seen_ = 0;     ///< collections of all objects in this process up to our newest one
  std::int64_t all_seen_ = 0;      ///< and all collections
};

}  // namespace stepleak
