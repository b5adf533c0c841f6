// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/api/python_trial.hpp"

#include <fmt/format.h>
#include <pybind11/embed.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "harness/api/python_step.hpp"
#include "harness/api/result_of.hpp"
#include "harness/explain/explain.hpp"
#include "harness/probes/python/program_errors.hpp"

namespace py = pybind11;

namespace stepleak {
namespace {

// Nobody waits for longer to hear that a fix helps.
constexpr double kMostSeconds = 30;

// Where one statement after the other is found to keep the same.
constexpr std::size_t kMostCorrections = 4;

constexpr std::string_view kRaised = "the step raised ";

/// Statements of the program corrected, while this lives. Made and dropped without the GIL.
class Corrected {
 public:
  /// Throws what Python raises.
  explicit Corrected(const std::vector<Correction>& corrections) {
    const py::gil_scoped_acquire gil;
    py::list told;
    for (const auto& each : corrections) {
      told.append(py::make_tuple(each.file, each.line, each.text, each.expression, each.suffix));
    }
    corrected_ = py::module_::import("stepleak._corrections").attr("Corrected")(told);
  }
  Corrected(const Corrected&) = delete;
  Corrected& operator=(const Corrected&) = delete;
  ~Corrected() {
    const py::gil_scoped_acquire gil;
    try {
      corrected_.attr("undo")();
    } catch (py::error_already_set& error) {
      discard(&error, "putting corrected statements back");
    }
    corrected_ = {};
  }

  [[nodiscard]] std::vector<std::string> statements() const {
    const py::gil_scoped_acquire gil;
    return corrected_.attr("statements").cast<std::vector<std::string>>();
  }
  [[nodiscard]] bool are_all_taken() const {
    const py::gil_scoped_acquire gil;
    return corrected_.attr("are_all_taken")().cast<bool>();
  }

 private:
  py::object corrected_;
};

bool is_alone() {
  const py::gil_scoped_acquire gil;
  return py::module_::import("stepleak._collectives").attr("distributed_in_use")().is_none();
}

// A look sees what comes once in a window, of which there are four in the last three quarters of the steps.
std::int64_t steps_to_see(const Finding& finding) {
  const auto between = static_cast<double>(finding.explained_steps) / static_cast<double>(finding.kept_count);
  return std::max(kFewestSteps, static_cast<std::int64_t>(std::ceil(between * 16 / 3)));
}

std::optional<Options> options_for(const Finding& finding, const RunRecord& record, const Options& asked) {
  const auto seen = steps_to_see(finding);
  const auto left = record.policy.budget_steps - record.trace.step_count();
  const auto steps = std::min(seen + kShortestRecord, left);
  const auto seconds = record.seconds / static_cast<double>(record.trace.step_count()) * static_cast<double>(steps);
  const bool is_in_time = asked.budget_seconds <= 0 || record.seconds + seconds <= asked.budget_seconds;
  if (steps < seen || seconds > kMostSeconds || !is_in_time) return std::nullopt;
  auto options = asked;
  options.target = record.target;
  options.effort = "quick";
  options.minimum_steps = seen;
  options.steps = steps;
  options.budget_seconds = 0;
  options.period = 0;
  options.ends_at.reset();
  return options;
}

// "train.py:17  self.losses.append(loss)"; empty where it is one of those that are corrected, or unknown.
std::string other_statement(const Statement& kept_by, const std::vector<Correction>& corrections) {
  const bool is_among = std::any_of(corrections.begin(), corrections.end(), [&](const Correction& each) {
    return each.file == kept_by.file && each.line == kept_by.line && each.text == kept_by.text;
  });
  if (kept_by.line == 0 || is_among) return {};
  return fmt::format("{}:{}  {}", std::filesystem::path(kept_by.file).filename().string(), kept_by.line, kept_by.text);
}

// Those that are not made yet.
std::vector<Correction> new_among(std::vector<Correction> corrections, const std::vector<Correction>& made) {
  std::erase_if(corrections, [&](const Correction& each) { return std::ranges::find(made, each) != made.end(); });
  return corrections;
}

class Trier {
 public:
  Trier(void* callable, bool takes_index, const RunRecord& record, const Options& options)
      : callable_(callable), takes_index_(takes_index), record_(record), options_(options), leak_(result_of(record)) {}

  std::vector<Trial> try_all() const {
    std::vector<Trial> trials;
    if (leak_.verdict != Verdict::leak || record_.failure || !is_alone()) return trials;
    for (const auto& finding : leak_.findings) {
      auto corrections = corrections_for(finding, record_.trace.recording());
      if (corrections.empty() || finding.kept_count < 1) continue;
      const auto options = options_for(finding, record_, options_);
      if (!options) continue;
      if (auto trial = try_one(finding, std::move(corrections), *options)) trials.push_back(std::move(*trial));
    }
    return trials;
  }

 private:
  // Of one finding, with what else keeps the same.
  [[nodiscard]] std::optional<Trial> try_one(const Finding& finding, std::vector<Correction> corrections,
                                             const Options& options) const {
    while (true) {
      const auto found = run(finding, corrections, options);
      if (!found.trial || found.next.empty() || corrections.size() >= kMostCorrections) return found.trial;
      corrections.insert(corrections.end(), found.next.begin(), found.next.end());
    }
  }

  struct Found {
    std::optional<Trial> trial;
    std::vector<Correction> next{};  ///< of what else keeps what the finding is of
  };

  [[nodiscard]] Found run(const Finding& finding, const std::vector<Correction>& corrections,
                          const Options& options) const {
    try {
      const Corrected corrected(corrections);
      const auto record = record_python_run(callable_, takes_index_, options);
      if (!corrected.are_all_taken()) return {};
      Trial trial{.corrections = corrections, .statements = corrected.statements(), .steps = record.trace.step_count()};
      if (record.failure) return {raised(std::move(trial), *record.failure)};
      return judged(finding, std::move(trial), record);
    } catch (py::error_already_set& error) {
      // Its statement is in no function, or the sources have changed.
      const py::gil_scoped_acquire gil;
      error.restore();
      PyErr_Clear();
      return {};
    }
  }

  // A loop that has ended, or what ended the run from outside, says nothing of the statement.
  static std::optional<Trial> raised(Trial trial, const RunFailure& failure) {
    const std::string_view what = failure.what;
    if (!what.starts_with(kRaised) || what.find("StopIteration") != std::string_view::npos) return std::nullopt;
    trial.outcome = TrialOutcome::raised;
    trial.what = what.substr(kRaised.size(), what.find('\n') - kRaised.size());
    return trial;
  }

  [[nodiscard]] Found judged(const Finding& finding, Trial trial, const RunRecord& record) const {
    const auto result = result_of(record);
    trial.outcome = TrialOutcome::ended;
    if (result.verdict == Verdict::clean) return {std::move(trial)};
    if (result.verdict != Verdict::leak) return {};
    Found found;
    for (const auto& left : result.findings) {
      if (is_another(left, finding)) continue;
      const bool is_in_vain = left.kind == finding.kind;
      trial.outcome = std::max(trial.outcome, is_in_vain ? TrialOutcome::in_vain : TrialOutcome::eased);
      if (is_in_vain && trial.what.empty()) trial.what = other_statement(left.kept_by, trial.corrections);
      if (found.next.empty())
        found.next = new_among(corrections_for(left, record.trace.recording()), trial.corrections);
    }
    found.trial = std::move(trial);
    return found;
  }

  // Whether it was found beside the finding, and is none of its statement.
  [[nodiscard]] bool is_another(const Finding& left, const Finding& finding) const {
    return std::any_of(leak_.findings.begin(), leak_.findings.end(), [&](const Finding& each) {
      const bool is_the_same = each.fingerprint == finding.fingerprint;
      return !is_the_same && each.fingerprint == left.fingerprint;
    });
  }

  void* callable_;
  bool takes_index_;
  const RunRecord& record_;
  const Options& options_;
  Result leak_;
};

}  // namespace

std::vector<Trial> try_python_fixes(void* callable, bool takes_index, const RunRecord& record, const Options& options) {
  return Trier(callable, takes_index, record, options).try_all();
}

}  // namespace stepleak
