// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/report/console.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <sstream>

#include "harness/base/bytes.hpp"
#include "harness/base/text.hpp"

namespace stepleak {
namespace {

constexpr std::size_t kMostFrames = 4;

// Relative to the working folder where that is shorter: a path that an editor opens.
std::string short_path(const std::string& file) {
  std::error_code error;
  auto relative = std::filesystem::proximate(file, error).string();
  return !error && relative.size() < file.size() ? relative : file;
}

class ConsoleText {
 public:
  explicit ConsoleText(bool use_colours) : use_colours_(use_colours) {}

  void headline(std::string_view colour, const std::string& text) { text_ += paint(colour, printable(text)) + "\n"; }
  void line(std::string_view label, const std::string& text) {
    if (text.empty()) return;
    std::istringstream lines(printable(text));
    std::string first;
    std::getline(lines, first);
    text_ += fmt::format("  {} {}\n", paint("2", fmt::format("{:<7}", label)), first);
    for (std::string more; std::getline(lines, more);) text_ += fmt::format("          {}\n", more);
  }
  [[nodiscard]] const std::string& str() const { return text_; }

 private:
  [[nodiscard]] std::string paint(std::string_view colour, const std::string& text) const {
    return use_colours_ ? fmt::format("\x1b[{}m{}\x1b[0m", colour, text) : text;
  }

  bool use_colours_;
  std::string text_;
};

std::string rate_of(const Finding& finding) {
  if (finding.bytes_per_step > 0) return format_bytes(finding.bytes_per_step) + "/step";
  return fmt::format("{:.4g} {}/step", finding.count_per_step, finding.counted);
}

std::string text_of(const Frame& frame) {
  auto text = fmt::format("{}:{}", short_path(frame.file), frame.line);
  if (!frame.function.empty()) text += " in " + frame.function;
  if (!frame.text.empty()) text += "      " + frame.text;
  return text;
}

std::string where_of(const Finding& finding) {
  std::string text;
  for (std::size_t i = 0; i < std::min(finding.where.size(), kMostFrames); ++i) {
    text += (i == 0 ? "" : "\n") + text_of(finding.where[i]);
    if (i == 0 && !finding.op.empty()) text += fmt::format("      [{}]", finding.op);
  }
  return text.empty() ? "no user frame was seen where the survivors were made" : text;
}

std::string limit_of(const Limit& limit) {
  return fmt::format("this run would also have caught {}/step of tensors, or one block every {} steps",
                     format_bytes(static_cast<double>(limit.bytes_per_step)), limit.period_steps);
}

void add_finding(const Finding& finding, ConsoleText& text) {
  text.line("what", finding.what);
  text.line("where", where_of(finding));
  text.line("kept by", finding.kept_by.empty() ? "" : short_path(finding.kept_by));
  text.line("holder", finding.holder);
  if (finding.explained_steps > 0) {
    text.line("proof", fmt::format("{} of {} explained steps kept some", finding.kept_count, finding.explained_steps));
  }
  text.line("fix", finding.fix);
}

std::string births_of(const LiveMemory& memory) {
  if (memory.last_step == 0) return "of the set-up";
  if (memory.first_step == memory.last_step) return fmt::format("of step {}", memory.last_step);
  if (memory.first_step == 0) return fmt::format("of the set-up to step {}", memory.last_step);
  return fmt::format("of steps {} to {}", memory.first_step, memory.last_step);
}

std::string text_of(const std::vector<LiveMemory>& lines) {
  std::string text;
  for (const auto& line : lines) {
    text += fmt::format("{}{}", text.empty() ? "" : "\n", format_bytes(static_cast<double>(line.bytes)));
    if (line.blocks > 1) text += fmt::format(" in {} blocks", line.blocks);
    text += " " + births_of(line);
    if (!line.where.empty()) text += "      " + text_of(line.where.front());
  }
  return text;
}

void add_memory(const MemoryEvidence& memory, ConsoleText& text) {
  if (memory.blocks == 0) return;
  text.line("live", fmt::format("{} in {} block{}", format_bytes(static_cast<double>(memory.bytes)), memory.blocks,
                                memory.blocks == 1 ? "" : "s"));
  text.line("largest", text_of(memory.largest));
  text.line("newest", text_of(memory.newest));
  text.line("stacks", text_of(memory.by_stack));
}

void add_failure(const RunFailure& failure, ConsoleText& text) {
  text.line("what", failure.what);
  add_memory(failure.memory, text);
  text.line("fix", failure.remedy);
  text.line("output", failure.output_tail);
}

}  // namespace

std::string summary_of(const Result& result) {
  switch (result.verdict) {
    case Verdict::clean:
      return fmt::format("no leak in {} steps", result.steps);
    case Verdict::leak:
      return result.findings.empty()
                 ? "leaks"
                 : fmt::format("leaks {} on {} · {}", rate_of(result.findings.front()),
                               to_string(result.findings.front().device), to_string(result.findings.front().kind));
    case Verdict::inconclusive:
      return "is inconclusive: " + result.reason;
    case Verdict::failure:
      break;
  }
  return "failed: " + result.reason;
}

std::string to_console(const Result& result, const ConsoleOptions& options) {
  ConsoleText text(options.use_colours);
  const auto origin = fmt::format("stepleak {} · {} steps · {:.1f} s", STEPLEAK_VERSION, result.steps, result.seconds);
  if (result.verdict == Verdict::clean) {
    text.headline("32", fmt::format("{} is clean on {} · {} · {}", result.target, to_string(result.device), origin,
                                    limit_of(result.limit)));
  } else {
    const auto colour = result.verdict == Verdict::inconclusive ? "33" : "31";
    text.headline(colour, fmt::format("{} {}    {}", result.target, summary_of(result), origin));
  }
  for (std::size_t i = 0; i < result.findings.size(); ++i) {
    if (i > 0)
      text.headline("31",
                    fmt::format("  and {} · {}", rate_of(result.findings[i]), to_string(result.findings[i].kind)));
    add_finding(result.findings[i], text);
  }
  if (result.failure) add_failure(*result.failure, text);
  if (result.verdict == Verdict::leak || result.verdict == Verdict::inconclusive)
    text.line("limit", limit_of(result.limit));
  for (const auto& note : result.notes) text.line("note", note);
  text.line("more", options.more);
  return text.str();
}

}  // namespace stepleak
