// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "harness/probes/collector.hpp"
#include "harness/probes/python/frozen_objects.hpp"
#include "harness/probes/python/user_freezes.hpp"

namespace stepleak {

/// Python's own cycle collector, for the time of one check. Neither its thresholds nor whether it is enabled are
/// touched: what the step sets there stays. Needs a running interpreter; takes the GIL itself.
///
/// What the first steps import or build once would be walked at every boundary (0.1 s where torch._dynamo is in it),
/// so collect() sets that apart too, twice in the warm-up; objects() goes on counting it.
class PythonCollector final : public Collector {
 public:
  /// What becomes of the frozen objects in the end.
  enum class Undo : std::uint8_t {
    restore,  ///< what was frozen before is frozen, and nothing else
    leave,    ///< the process ends soon
  };

  /// At which boundaries collect() collects.
  enum class Pace : std::uint8_t {
    every_boundary,
    /// Where collections take long, at so few that they cost a 400th of the time, and where the run is judged: a loop
    /// of the user's is not to wait for them. At every one where is_enabled() is false, since then nothing else
    /// collects.
    sampled,
  };

  /// What Pace::sampled does, in words.
  [[nodiscard]] static std::string sampled_pace();

  explicit PythonCollector(Undo undo = Undo::restore, Pace pace = Pace::every_boundary);
  ~PythonCollector() override;
  PythonCollector(const PythonCollector&) = delete;
  PythonCollector& operator=(const PythonCollector&) = delete;

  void freeze() override;
  bool collect(bool is_settled) override;
  void unfreeze() override;
  std::int64_t collect_all() override;
  void stop_freezing() override;
  void restore() noexcept override;
  [[nodiscard]] bool is_enabled() const override;

  /// Gets the list of what a collection found unreachable, as a `PyObject*`, before that is freed. Keeps none of it.
  using SeeGarbage = std::function<void(void* garbage)>;

  /// Hands what the next collect() finds to `see`, where nothing else would free it: else it is no leak.
  /// Nothing is told where that is null. What `see` throws costs what it sees, and nothing else.
  void show_next_garbage(SeeGarbage see) { see_garbage_ = std::move(see); }

  /// Whether the newest collect() did: else what is counted now may be garbage.
  [[nodiscard]] bool has_collected() const { return has_collected_; }

  /// Tracked objects that were born since the first freeze(), at the newest collect() that did. Of those set apart
  /// the deaths are not seen, so the count is too high by frozen_deaths(), and never hides growth. Between unfreeze()
  /// and freeze() it stands still.
  [[nodiscard]] std::int64_t objects() const { return objects_; }

  /// What had been set apart and has died, less what the user's code set apart itself; where it was counted since the
  /// collect() before the newest one. That takes some 30 ns an object, so it is done at freeze(), and at a settled
  /// boundary if objects() rose.
  [[nodiscard]] std::optional<std::int64_t> frozen_deaths() const {
    return are_deaths_new_ ? std::optional(frozen_deaths_) : std::nullopt;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::int64_t kNotSeen = -1;

  bool collect_now();
  void count_deaths();
  void collect_and_show(const SeeGarbage& see);
  void note_collections_of_user();
  [[nodiscard]] std::int64_t count_objects(std::int64_t tracked) const;
  [[nodiscard]] bool is_on() const;
  [[nodiscard]] bool is_due(Clock::time_point now) const;

  const Undo undo_;
  const Pace pace_;
  std::optional<FrozenObjects> frozen_before_;  ///< by the user's code; none where that is left as it comes
  bool is_frozen_ = false;                      ///< we have, and not unfrozen since
  UserFreezes freezes_of_user_;
  bool has_collected_ = false;
  SeeGarbage see_garbage_;
  std::int64_t collections_ = 0;
  bool collects_itself_ = false;       ///< the user's code has the collector off, and called it since
  std::int64_t seen_ = kNotSeen;       ///< collections in this process up to our newest one; only while it is off
  Clock::time_point collected_at_;     ///< the end of the newest one
  Clock::duration newest_time_{};      ///< that it took, with the count of what was left
  Clock::duration collection_time_{};  ///< the shorter one of the last two
  std::int64_t objects_ = 0;
  std::int64_t set_apart_ = 0;  ///< of objects_: what a later freeze() set apart
  std::int64_t base_ = 0;       ///< of all tracked objects, what the set-up and the harness itself made
  std::int64_t thawed_ = 0;     ///< all tracked objects when the newest unfreeze() was done with
  std::int64_t frozen_deaths_ = 0;
  std::int64_t objects_at_count_ = 0;  ///< of the deaths
  bool are_deaths_counted_ = false;    ///< since the newest collect()
  bool are_deaths_new_ = false;
  /// After stop_freezing(): all tracked objects when it was called.
  std::optional<std::int64_t> counted_from_;
};

}  // namespace stepleak
