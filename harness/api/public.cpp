// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// The public interface in terms of the harness's own types, which may change from release to release.

#define STEPLEAK_BUILDS_ITSELF
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

#include "harness/api/check.hpp"
#include "harness/api/result_files.hpp"
#include "harness/api/stepleak/stepleak.hpp"
#include "harness/api/stepleak/turns.hpp"
#include "harness/api/turns.hpp"
#include "harness/api/watch.hpp"
#include "harness/probes/torch/cpu_allocator_probe.hpp"
#include "harness/report/console.hpp"
#include "harness/trace/serialise.hpp"

namespace stepleak::v0 {
namespace {

// Both list the same, in the same order.
static_assert(static_cast<int>(Kind::host_heap) + 1 == kKindCount);
static_assert(static_cast<int>(Verdict::failure) == static_cast<int>(stepleak::Verdict::failure));
static_assert(static_cast<int>(Mark::evaluation) == static_cast<int>(MarkType::evaluation));

stepleak::Options own_options(const Options& given) {
  return {.target = given.target,
          .device = given.device,
          .effort = given.effort,
          .steps = given.steps,
          .minimum_steps = given.minimum_steps,
          .period = given.period,
          .budget_seconds = given.budget_seconds,
          .seed = given.seed,
          .threads = given.threads,
          .with_cuda_objects = given.with_cuda_objects};
}

ResultFiles files_of(const Options& given) { return {.json = given.json, .html = given.html, .trace = given.trace}; }

Finding public_finding(const stepleak::Finding& own) {
  Finding finding;
  finding.kind = static_cast<Kind>(own.kind);
  finding.device = stepleak::to_string(own.device);
  finding.bytes_per_step = own.bytes_per_step;
  finding.since_step = own.since_step;
  finding.what = own.what;
  for (const auto& frame : own.where) finding.where.push_back({frame.file, frame.line, frame.function});
  finding.holder = own.holder;
  finding.fix = own.fix;
  finding.fingerprint = own.fingerprint;
  return finding;
}

Result public_result(const stepleak::Result& own) {
  Result result;
  result.verdict = static_cast<Verdict>(own.verdict);
  result.device = stepleak::to_string(own.device);
  result.reason = own.reason;
  if (own.failure) result.failure = own.failure->what;
  result.steps = own.steps;
  result.seconds = own.seconds;
  for (const auto& finding : own.findings) result.findings.push_back(public_finding(finding));
  result.notes = own.notes;
  result.report = to_console(own);
  result.json = to_json(own);
  return result;
}

// With the files that are asked for.
Result public_result(const stepleak::Result& own, const RunRecord& record, const ResultFiles& files) {
  auto result = public_result(own);
  for (const auto& problem : write(files, own, record)) {
    std::fprintf(stderr, "stepleak: %s\n", problem.c_str());
    result.notes.push_back(problem);
  }
  return result;
}

template <typename Action>
auto with_public_errors(const Action& action) try {
  return action();
} catch (const stepleak::Error& error) {
  throw Error(error.what(), error.remedy());
}

}  // namespace

const char* to_string(Kind kind) { return stepleak::to_string(static_cast<stepleak::Kind>(kind)).data(); }
const char* to_string(Verdict verdict) { return stepleak::to_string(static_cast<stepleak::Verdict>(verdict)).data(); }

void record_cpu_tensors() noexcept { stepleak::record_cpu_tensors(); }

Result check(const Step& step, const Options& options) {
  return with_public_errors([&] {
    const auto files = files_of(options);
    check_outputs(files);
    const auto record = record_run(step, own_options(options));
    return public_result(result_of(record), record, files);
  });
}

struct Watch::Parts {
  Parts(const Options& options, OnLeak given)
      : files(checked_files(options)), watch(own_options(options)), on_leak(std::move(given)) {}

  static ResultFiles checked_files(const Options& options) {
    auto files = files_of(options);
    check_outputs(files);
    return files;
  }

  [[nodiscard]] bool writes_files() const { return files.are_any() && !watch.is_in_child(); }

  const Result& judged() {
    if (result) return *result;
    const auto& own = watch.finish();
    result = public_result(own, watch.record(), writes_files() ? files : ResultFiles{});
    if (on_leak && result->verdict == Verdict::leak) {
      is_told = true;
      on_leak(*result);
    }
    return *result;
  }

  ResultFiles files;
  stepleak::Watch watch;
  OnLeak on_leak;
  std::optional<Result> result;
  bool is_told = false;
};

Watch::Watch(const Options& options, OnLeak on_leak)
    : own_(with_public_errors([&] { return std::make_unique<Parts>(options, std::move(on_leak)); })) {}

Watch::~Watch() {
  const bool is_verdict_unsaid = is_decided() && !own_->is_told;
  try {
    own_->on_leak = {};  // nothing may be thrown from here
    if (own_->writes_files()) (void)own_->judged();
    if (!is_verdict_unsaid) return;
    const auto& report = own_->judged().report;
    std::fprintf(stderr, "%s\n", report.substr(0, report.find('\n')).c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stepleak: %s\n", error.what());
  }
}

bool Watch::step() {
  if (is_decided()) return false;
  const bool goes_on = own_->watch.step();
  // To name who keeps what takes a while, which can wait where nobody is called.
  if (!goes_on && (own_->on_leak || own_->writes_files())) (void)own_->judged();
  return goes_on;
}

void Watch::mark(Mark what) { own_->watch.mark(static_cast<MarkType>(what)); }

bool Watch::is_decided() const { return own_->watch.is_decided(); }

void Watch::fail(const std::string& what) { own_->watch.fail(what); }

const Result& Watch::finish() {
  own_->is_told = true;
  return own_->judged();
}

struct Turns::Parts {
  explicit Parts(const Options& options) : turns(own_options(without_files(options))) {}

  static const Options& without_files(const Options& options) {
    if (files_of(options).are_any()) {
      throw usage_error("turns have a result each, and write no files", "write down the results that you ask for");
    }
    return options;
  }

  stepleak::Turns turns;
  std::map<std::string, Result> results;
};

Turns::Turns(const Options& options) : own_(with_public_errors([&] { return std::make_unique<Parts>(options); })) {}

Turns::~Turns() = default;

void Turns::begin_group(const std::string& group) {
  with_public_errors([&] { own_->turns.begin_group(group); });
}

void Turns::end_group() {
  with_public_errors([&] { own_->turns.end_group(); });
}

void Turns::begin(const std::string& piece) {
  with_public_errors([&] { own_->turns.begin(piece); });
}

void Turns::end() {
  with_public_errors([&] { own_->turns.end(); });
}

void Turns::end_round() {
  with_public_errors([&] { own_->turns.end_round(); });
}

std::int64_t Turns::turns_of(const std::string& piece) const { return own_->turns.turns_of(piece); }

bool Turns::is_decided(const std::string& piece) const { return own_->turns.is_decided(piece); }

const Result& Turns::result(const std::string& piece) {
  auto& result = own_->results[piece];
  if (result.report.empty()) result = public_result(own_->turns.result(piece));
  return result;
}

}  // namespace stepleak::v0
