// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/python/python_collector.hpp"

#include <fmt/format.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "harness/probes/python/collector_functions.hpp"
#include "harness/probes/python/program_errors.hpp"

namespace py = pybind11;

namespace stepleak {
namespace {

// Below, to collect and to count them takes 50 us at most, and the deaths of few objects are better seen than saved.
constexpr std::int64_t kMany = 1000;

std::int64_t tracked_objects() { return PyList_GET_SIZE(gc().objects().ptr()); }

// With those that are set apart, whoever did.
std::int64_t all_objects() { return tracked_objects() + gc().freeze_count().cast<std::int64_t>(); }

// Without a reference to any: what is held is no garbage.
std::vector<const void*> tracked_addresses() {
  const auto objects = gc().objects();
  std::vector<const void*> addresses;
  addresses.reserve(static_cast<std::size_t>(PyList_GET_SIZE(objects.ptr())));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(objects.ptr()); ++i) {
    addresses.push_back(PyList_GET_ITEM(objects.ptr(), i));
  }
  return addresses;
}

// A threshold of zero switches the collector off as well, and so does one that no training comes to: with 100 objects
// in cycles a step, in a million of them.
constexpr std::int64_t kNever = 100'000'000;

// A collection that takes no longer, the count of what is left included, is made at every boundary: a quarter of a
// percent of a step of 10 ms.
constexpr std::chrono::microseconds kShort{25};
// Others together take no larger part of the time than one of these.
constexpr int kPartsOfTime = 400;

// Whether our freeze() is in force in this process.
bool is_ours_in_force = false;

// In a child that was forked in a run, the collector is as it was before it. Called with the GIL.
void unfreeze_in_child() {
  if (std::exchange(is_ours_in_force, false)) gc().unfreeze();
}

// Python has no way to take a fork handler back.
void register_fork_handler_once() {
  [[maybe_unused]] static const bool is_registered = [] {
    py::module_::import("os").attr("register_at_fork")(py::arg("after_in_child") =
                                                           py::cpp_function(&unfreeze_in_child));
    return true;
  }();
}

// The judge drops the first quarter of a run, which has 16 steps at least: what is not seen to die later, because it
// was set apart here, then shows as no step. Twice, since an optimizer may import at its first step or at its second.
bool is_warming_up(std::int64_t collections) { return collections == 2 || collections == 4; }

}  // namespace

std::string PythonCollector::sampled_pace() {
  return fmt::format("at every boundary, unless they take more than {} us and a {}th of the time", kShort.count(),
                     kPartsOfTime);
}

PythonCollector::PythonCollector(Undo undo, Pace pace) : undo_(undo), pace_(pace) {
  const py::gil_scoped_acquire gil;
  (void)gc();
  register_fork_handler_once();
}

PythonCollector::~PythonCollector() { restore(); }

void PythonCollector::restore() noexcept {
  if (!is_frozen_ && !frozen_before_) return;
  const py::gil_scoped_acquire gil;
  try {
    unfreeze();
    if (frozen_before_) frozen_before_->freeze_again();
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("undoing gc.freeze()");
  }
  frozen_before_.reset();
}

void PythonCollector::freeze() {
  if (counted_from_) return;
  const py::gil_scoped_acquire gil;
  if (undo_ == Undo::restore && !frozen_before_) frozen_before_.emplace();
  collect_now();
  if (is_frozen_) set_apart_ += tracked_objects();
  gc().freeze();
  // What came while nothing was set apart is the harness's own.
  if (!is_frozen_) base_ += all_objects() - thawed_;
  freezes_of_user_.begin_anew();
  is_frozen_ = is_ours_in_force = true;
  count_deaths();
}

bool PythonCollector::is_due(Clock::time_point now) const {
  return pace_ == Pace::every_boundary || collection_time_ <= kShort ||
         now - collected_at_ >= kPartsOfTime * collection_time_ || !is_enabled();
}

bool PythonCollector::collect(bool is_settled) {
  const py::gil_scoped_acquire gil;
  const auto start = Clock::now();
  note_collections_of_user();
  has_collected_ = is_settled || is_due(start);
  if (!has_collected_) return false;
  freezes_of_user_.before_collection();
  if (see_garbage_ && !is_enabled()) collect_and_show(std::exchange(see_garbage_, {}));
  const bool has_freed = collect_now();
  {
    // No longer than that: it would count as one of them itself.
    const auto objects = gc().objects();
    objects_ = count_objects(PyList_GET_SIZE(objects.ptr()));
    freezes_of_user_.after_collection(objects.ptr());
  }
  are_deaths_new_ = std::exchange(are_deaths_counted_, false);
  collected_at_ = Clock::now();
  // On a busy machine one may wait for a core, which two in turn hardly ever do.
  const auto taken = collected_at_ - start;
  collection_time_ = std::min(taken, std::exchange(newest_time_, taken));
  if (is_frozen_ && is_warming_up(++collections_) && tracked_objects() >= kMany) {
    set_apart_ += tracked_objects();
    gc().freeze();
    freezes_of_user_.begin_anew();
  }
  if (is_settled && is_frozen_ && objects_ > objects_at_count_) {
    count_deaths();
    are_deaths_new_ = std::exchange(are_deaths_counted_, false);
  }
  return has_freed;
}

void PythonCollector::count_deaths() {
  objects_at_count_ = count_objects(tracked_objects());
  frozen_deaths_ = objects_at_count_ - (all_objects() - base_);
  are_deaths_counted_ = true;
}

// Whether something was unreachable.
bool PythonCollector::collect_now() {
  const auto found = gc().collect();
  seen_ = is_on() ? kNotSeen : collections_in_process().all;
  return !py::isinstance<py::int_>(found) || found.cast<std::int64_t>() > 0;
}

// As collect() does it with all that is unreachable kept in gc.garbage: finalizers run, and weak references end. What
// the user's code had there stays there.
void PythonCollector::collect_and_show(const SeeGarbage& see) {
  const auto debug = gc().get_debug().cast<int>();
  const auto before = PyList_GET_SIZE(gc().garbage.ptr());
  gc().set_debug(debug | gc().save_all);
  gc().collect();
  gc().set_debug(debug);
  const auto found = py::reinterpret_steal<py::object>(PyList_GetSlice(gc().garbage.ptr(), before, PY_SSIZE_T_MAX));
  try {
    see(found.ptr());
  } catch (py::error_already_set& error) {
    discard(&error, "looking at garbage");
  }
  PyList_SetSlice(gc().garbage.ptr(), before, PY_SSIZE_T_MAX, nullptr);
}

// While it is off, nobody but the user's code and we collect.
void PythonCollector::note_collections_of_user() {
  if (seen_ == kNotSeen || is_on()) return;
  collects_itself_ = collects_itself_ || collections_in_process().all > seen_;
}

void PythonCollector::unfreeze() {
  if (!is_frozen_) return;
  const py::gil_scoped_acquire gil;
  set_apart_ = count_objects(tracked_objects());
  thawed_ = all_objects();
  gc().unfreeze();
  is_frozen_ = is_ours_in_force = false;
}

std::int64_t PythonCollector::collect_all() {
  const py::gil_scoped_acquire gil;
  if (!is_frozen_) {
    collect_now();
    return 0;
  }
  // What it frees while the others are set apart is not told.
  collect_now();
  const auto before = tracked_addresses();
  unfreeze();
  collect_now();
  auto after = tracked_addresses();
  thawed_ = std::ssize(after);
  std::sort(after.begin(), after.end());
  return std::count_if(before.begin(), before.end(),
                       [&](const void* object) { return !std::binary_search(after.begin(), after.end(), object); });
}

void PythonCollector::stop_freezing() {
  if (counted_from_) return;
  const py::gil_scoped_acquire gil;
  unfreeze();
  counted_from_ = tracked_objects();
}

bool PythonCollector::is_enabled() const { return (is_on() || collects_itself_) && !freezes_of_user_.keep_garbage(); }

bool PythonCollector::is_on() const {
  const py::gil_scoped_acquire gil;
  if (PyGC_IsEnabled() == 0) return false;
  const auto threshold = gc().threshold().cast<py::tuple>()[0].cast<std::int64_t>();
  return threshold > 0 && threshold < kNever;
}

std::int64_t PythonCollector::count_objects(std::int64_t tracked) const {
  if (counted_from_) return set_apart_ + tracked - *counted_from_;
  return set_apart_ + (is_frozen_ ? tracked : 0);
}

}  // namespace stepleak
