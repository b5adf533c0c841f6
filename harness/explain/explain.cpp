// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/explain/explain.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "harness/base/files.hpp"

namespace stepleak {
namespace {

// "self.history.append(loss)" with `loss` replaced: the statement as it should be.
std::string mended(const Finding& finding, std::string_view suffix) {
  const auto space = finding.kept_by.find("  ");
  if (finding.kept_expression.empty() || space == std::string::npos) return {};
  auto statement = finding.kept_by.substr(space + 2);
  const auto at = statement.rfind(finding.kept_expression);
  if (at == std::string::npos) return {};
  const bool is_name = finding.kept_expression.find_first_of(" +-*/") == std::string::npos;
  const auto expression = is_name ? finding.kept_expression : "(" + finding.kept_expression + ")";
  statement.replace(at, finding.kept_expression.size(), expression + std::string(suffix));
  return statement;
}

std::string with_statement(std::string_view advice, const std::string& statement) {
  return statement.empty() ? std::string(advice) : fmt::format("{}: {}", advice, statement);
}

}  // namespace

std::string fix_for(const Finding& finding) {
  switch (finding.kind) {
    case Kind::graph_retention:
      return with_statement("keep a number, not the tensor", mended(finding, ".item()"));
    case Kind::attached_activation:
      return with_statement("detach what outlives the step", mended(finding, ".detach()"));
    case Kind::detached_activation:
      return "keep a summary, move it to the host, or bound what keeps it";
    case Kind::view_pins_storage:
      return with_statement("copy the part that is kept", mended(finding, ".clone()"));
    case Kind::growing_buffer:
      return "bound the buffer, or keep a list and reset it";
    case Kind::reference_cycle:
      return finding.where.empty() ? "break the cycle with a weak reference, or switch the collector on again"
                                   : "break the cycle: hold one side weakly, or do not store an output on what made it";
    case Kind::host_heap:
      return "bound what the step appends to on the host";
    case Kind::optimizer_state:
      return "drop the optimizer's state together with the parameters that it belongs to";
    case Kind::fragmentation_drift:
      return "keep sizes few, or set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";
    case Kind::stuck_free:
      return "synchronise the stream that the block was recorded on";
    case Kind::pinned_host:
      return "pin buffers of few sizes and use them again";
    case Kind::raw_cuda:
      return "destroy what the step creates outside the caching allocator";
    case Kind::growth:
      break;
  }
  return "bound or clear what keeps it";
}

std::string fingerprint_of(const Finding& finding) {
  std::string text(to_string(finding.kind));
  for (const auto& frame : finding.where) {
    text += fmt::format("|{}:{}", std::filesystem::path(frame.file).filename().string(), frame.function);
  }
  return fnv1a_hex(text + "|" + finding.holder_shape);
}

}  // namespace stepleak
