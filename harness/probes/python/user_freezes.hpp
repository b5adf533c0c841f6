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

  /// Whether what only our collections freed would have stayed: such calls came before at least half of the
  /// collections since the first, so that a rate of what was freed is one of what stays.
  [[nodiscard]] bool keep_garbage() const { return with_ > 1 && with_ >= without_; }

 private:
  /// A tracked object that is younger than our newest freeze: what sets it apart is a freeze of the user's.
  void* newborn_ = nullptr;
  std::int64_t with_ = 0;     ///< collections of ours before which the user's code froze, and had not collected
  std::int64_t without_ = 0;  ///< the others since the first that it froze before
  bool has_frozen_ = false;
  bool has_collected_ = false;          ///< the user's code, all objects, since our newest collection
  std::int64_t full_collections_ = -1;  ///< in this process up to our newest one, once the user's code has frozen
};

}  // namespace stepleak
