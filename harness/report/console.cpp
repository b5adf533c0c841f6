// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/report/console.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <utility>

#include "harness/base/bytes.hpp"
#include "harness/base/text.hpp"
#include "harness/trace/holder_text.hpp"

namespace stepleak {
namespace {

constexpr std::size_t kMostFrames = 4;
constexpr std::size_t kLabel = 10;          // columns before a line's text
constexpr std::size_t kFewestColumns = 20;  // that a text is broken into

// Relative to the working folder where that is shorter: a path that an editor opens.
std::string short_path(const std::string& file) {
  std::error_code error;  // the folder may have been removed
  const auto here = std::filesystem::current_path(error);
  auto relative = error ? file : std::filesystem::proximate(file, here, error).string();
  return !error && relative.size() < file.size() ? relative : file;
}

/// From one byte of a text to before another.
struct Stretch {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Of UTF-8: what begins a character, counted as one column each.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

// The rows of a line that is broken between words, never within one: a path stays one that an editor opens. What the
// line begins with stays before its first word.
std::vector<Stretch> rows_of(std::string_view line, std::size_t columns) {
  std::vector<Stretch> rows{{0, line.size()}};
  if (columns == 0 || columns_of(line) <= columns) return rows;
  auto at = std::min(line.find_first_not_of(' '), line.size());
  while (true) {
    auto& row = rows.back();
    const auto word_end = std::min(line.find(' ', at), line.size());
    if (word_end == line.size()) return rows;
    const auto next = std::min(line.find_first_not_of(' ', word_end), line.size());
    const auto next_end = std::min(line.find(' ', next), line.size());
    if (columns_of(line.substr(row.begin, next_end - row.begin)) > columns) {
      row.end = word_end;
      if (next == line.size()) return rows;
      rows.push_back({next, line.size()});
    }
    at = next;
  }
}

class ConsoleText {
 public:
  explicit ConsoleText(const ConsoleOptions& options) : use_colours_(options.use_colours), columns_(options.columns) {}

  void headline(std::string_view colour, const std::string& text) {
    const auto line = printable_line(text);
    const std::string further = "    ";
    for (const auto& row : rows_of(line, columns_ > 0 ? std::max(columns_, kFewestColumns) - further.size() : 0)) {
      text_ += (row.begin > 0 ? further : "") + paint(colour, line.substr(row.begin, row.end - row.begin)) + "\n";
    }
  }
  /// `source` is the part of its first line that stands in the user's sources.
  void line(std::string_view label, const std::string& text, const std::string& source = {}) {
    if (text.empty()) return;
    std::istringstream lines(printable(text));
    auto before = fmt::format("  {} ", paint("2", fmt::format("{:<7}", label)));
    auto underlined = printable_line(source);
    for (std::string line; std::getline(lines, line); underlined.clear()) {
      const auto found = underlined.empty() ? std::string::npos : line.rfind(underlined);
      const auto begin = std::min(found, line.size());
      const Stretch marked{begin, begin + (begin < line.size() ? underlined.size() : 0)};
      for (const auto& row : rows_of(line, columns_ > 0 ? std::max(columns_, kLabel + kFewestColumns) - kLabel : 0)) {
        text_ += std::exchange(before, std::string(kLabel, ' ')) + row_of(line, row, marked) + "\n";
      }
    }
  }
  [[nodiscard]] const std::string& str() const { return text_; }

 private:
  [[nodiscard]] std::string paint(std::string_view colour, const std::string& text) const {
    return use_colours_ && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", colour, text) : text;
  }
  [[nodiscard]] std::string row_of(const std::string& line, const Stretch& row, const Stretch& marked) const {
    const auto begin = std::clamp(marked.begin, row.begin, row.end);
    const auto end = std::clamp(marked.end, begin, row.end);
    return line.substr(row.begin, begin - row.begin) + paint("4", line.substr(begin, end - begin)) +
           line.substr(end, row.end - end);
  }

  bool use_colours_;
  std::size_t columns_;
  std::string text_;
};

std::string rate_of(const Finding& finding) {
  if (finding.bytes_per_step > 0) return format_bytes(finding.bytes_per_step) + "/step";
  return fmt::format("{:.4g} {}/step", finding.count_per_step, to_string(finding.counted));
}

// "512 B/step on cuda:0 and 44 KiB/step on cpu": what the process loses, the device with the most first.
std::string loss_of(const Result& result) {
  std::string text;
  for (const auto& loss : result.losses) {
    text += fmt::format("{}{}{}/step on {}", text.empty() ? "" : " and ", loss.is_least ? "at least " : "",
                        format_bytes(loss.bytes_per_step), to_string(loss.device));
  }
  if (!text.empty()) return text;
  // No ledger's own trend is known: the finding is of a part.
  const auto& finding = result.findings.front();
  return fmt::format("{}{} on {}", finding.bytes_per_step > 0 ? "at least " : "", rate_of(finding),
                     to_string(finding.device));
}

// Two digits: it is an estimate.
std::string count_of_steps(double steps) {
  if (steps >= 1e10) return fmt::format("{:.0f} billion more steps", steps / 1e9);
  if (steps >= 1e9) return fmt::format("{:.1f} billion more steps", steps / 1e9);
  if (steps >= 1e7) return fmt::format("{:.0f} million more steps", steps / 1e6);
  if (steps >= 1e6) return fmt::format("{:.1f} million more steps", steps / 1e6);
  return steps >= 1e4 ? fmt::format("{:.0f},000 more steps", steps / 1e3) : fmt::format("{:.0f} more steps", steps);
}

std::string full_of(const Result& result) {
  std::string text;
  for (const auto& loss : result.losses) {
    if (loss.full_after == 0 || loss.is_least) continue;
    text += fmt::format("{}{} after {}", text.empty() ? "" : ", ", to_string(loss.device),
                        count_of_steps(static_cast<double>(loss.full_after)));
  }
  return text;
}

std::string text_of(const Frame& frame) {
  auto text = fmt::format("{}:{}", short_path(frame.file), frame.line);
  if (!frame.function.empty()) text += " in " + frame.function;
  if (!frame.text.empty()) text += "      " + frame.text;
  return text;
}

std::string statement_of(const Statement& kept) {
  return kept.line == 0 ? "" : fmt::format("{}:{}  {}", short_path(kept.file), kept.line, kept.text);
}

std::string where_of(const Finding& finding) {
  std::string text;
  const auto& where = finding.where;
  for (std::size_t i = 0; i < where.size(); ++i) {
    // What a library did below the user's frames stands behind them, and is one line however many those are.
    const bool is_below = where[i].owner == FrameOwner::library && where.front().owner == FrameOwner::user;
    if (i >= kMostFrames && !is_below) continue;
    text += fmt::format("{}{}{}", i == 0 ? "" : "\n", is_below ? "through " : "", text_of(where[i]));
    if (where[i].folded_count > 0) text += fmt::format("      (+{} library frames)", where[i].folded_count);
    if (i == 0 && !finding.op.empty()) text += fmt::format("      [{}]", finding.op);
  }
  return text.empty() ? "no user frame was seen where the survivors were made" : text;
}

// What the program declares, which is taken from it: a limit of what the run can say.
std::string declared_of(const std::vector<DeclaredBound>& declared) {
  constexpr std::size_t kMost = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(declared.size(), kMost); ++i) {
    const auto& [type, length, structure] = declared[i];
    text += fmt::format("{} at most {} in a {} ({}:{}), which holds {}", i == 0 ? "; declared:" : ",", structure.bound,
                        type, short_path(structure.file), structure.line, length);
  }
  return declared.size() > kMost ? fmt::format("{}, and {} more", text, declared.size() - kMost) : text;
}

std::string limit_of(const Result& result) {
  const auto& limit = result.limit;
  auto text = fmt::format("this run would also have caught {}/step of tensors",
                          format_bytes(static_cast<double>(limit.bytes_per_step)));
  const auto add = [&](const SeriesKey& key, const std::string& what) {
    const auto floor = limit.floors.find(key);
    if (floor != limit.floors.end()) text += fmt::format(", {}/step {}", format_bytes(floor->second), what);
  };
  const auto add_count = [&](Counter counter, const std::string& what) {
    const auto floor = limit.floors.find({counter});
    if (floor != limit.floors.end()) text += fmt::format(", {:.0f} {}/step", floor->second, what);
  };
  // What begins in the last window has no rise yet between the lowest values of two, which noisy ledgers are judged by;
  // nor has what began since the last reading before it.
  std::int64_t unseen = 0;
  for (const auto counter : {Counter::heap_bytes, Counter::resident_bytes}) {
    const auto* noisy = result.trace.ledger({counter});
    if (noisy == nullptr || !limit.floors.contains({counter})) continue;
    const auto steps = noisy->steps();
    const auto gap = steps.size() < 2 ? 1 : steps.back() - steps[steps.size() - 2];
    unseen = std::max(unseen, limit.period_steps + gap - 1);
  }
  bool is_uncounted = false;
  bool has_gpu = false;
  add({Counter::heap_bytes}, "of host heap");
  add({Counter::resident_bytes}, "of RSS");
  add({Counter::mapped_bytes}, "of mapped memory");
  add_count(Counter::python_objects, "Python objects");
  add_count(Counter::python_blocks, "blocks of Python's allocator");
  for (const auto& device : result.trace.devices()) {
    add({Counter::outside_bytes, device}, fmt::format("outside the allocator on {}", to_string(device)));
    const auto objects = limit.floors.find({Counter::cuda_objects, device});
    if (objects != limit.floors.end()) {
      text += fmt::format(", one CUDA object in {:.0f} steps on {}", 1 / objects->second, to_string(device));
    }
    has_gpu = has_gpu || device.type == DeviceType::cuda;
    is_uncounted = is_uncounted || (device.type == DeviceType::cuda && objects == limit.floors.end());
  }
  std::string blocks = has_gpu ? " (of reserved, page-locked and shared memory, too)" : " (of shared memory, too)";
  if (!result.trace.has({Counter::shared_bytes})) blocks = has_gpu ? " (of reserved and page-locked memory, too)" : "";
  const bool is_heap_unseen = result.trace.has({Counter::resident_bytes}) && !result.trace.has({Counter::heap_bytes});
  return fmt::format("{}, or one block{} every {} steps, and nothing that begins after step {}{}{}{}", text, blocks,
                     limit.period_steps, std::max<std::int64_t>(0, result.steps - unseen), declared_of(result.declared),
                     is_heap_unseen ? "; the host heap was not seen" : "",
                     is_uncounted ? "; streams, events, graphs and small raw allocations were not counted" : "");
}

void add_finding(const Finding& finding, ConsoleText& text) {
  if (finding.rank >= 0) text.line("rank", std::to_string(finding.rank));
  text.line("what", finding.what);
  text.line("where", where_of(finding), finding.where.empty() ? "" : finding.where.front().text);
  text.line("kept by", statement_of(finding.kept_by), finding.kept_by.text);
  text.line("holder", finding.holder);
  auto structure = finding.structure;
  structure.file = short_path(structure.file);
  text.line("bounds", structure_text(structure));
  if (finding.explained_steps > 0) {
    text.line("proof", fmt::format("{} of {} recorded steps kept some", finding.kept_count, finding.explained_steps));
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

void add_failure(const RunFailure& failure, std::string_view label, ConsoleText& text) {
  text.line(label, failure.what);
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
                 : fmt::format("leaks {} · {}", loss_of(result), to_string(result.findings.front().kind));
    case Verdict::inconclusive:
      return "is inconclusive: " + result.reason;
    case Verdict::failure:
      break;
  }
  return "failed: " + result.reason;
}

std::string hanging_text(const std::string& before, const std::string& text, std::size_t columns) {
  const auto indent = columns_of(before);
  const auto left = columns > 0 ? std::max(columns, indent + kFewestColumns) - indent : 0;
  std::string lines;
  for (const auto& row : rows_of(text, left)) {
    lines += (row.begin == 0 ? before : std::string(indent, ' ')) + text.substr(row.begin, row.end - row.begin) + "\n";
  }
  return lines;
}

std::string report_line(std::string_view label, const std::string& text, const ConsoleOptions& options) {
  ConsoleText line(options);
  line.line(label, text);
  return line.str();
}

std::string to_console(const Result& result, const ConsoleOptions& options) {
  ConsoleText text(options);
  const auto origin = fmt::format("stepleak {} · {} steps · {:.1f} s", STEPLEAK_VERSION, result.steps, result.seconds);
  if (result.verdict == Verdict::clean) {
    text.headline("32", fmt::format("{} is clean on {} · {} · {}", result.target, to_string(result.device), origin,
                                    limit_of(result)));
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
  text.line("full", full_of(result));
  if (result.failure) add_failure(*result.failure, result.verdict == Verdict::failure ? "what" : "ended", text);
  const bool is_limited = result.verdict == Verdict::leak || result.verdict == Verdict::inconclusive;
  if (is_limited && result.limit.period_steps > 0) text.line("limit", limit_of(result));
  for (const auto& note : result.notes) text.line("note", note);
  return text.str();
}

}  // namespace stepleak
