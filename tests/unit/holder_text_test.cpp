// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/trace/holder_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace stepleak {
namespace {

ObjectGraph trainer_with_history() {
  return {.nodes = {{.type = "Trainer", .name = "train.trainer"},
                    {},
                    {.type = "list", .length = 31},
                    {.type = "Tensor"},
                    {.type = "MseLossBackward0"}},
          .edges = {{.from = 0, .to = 1, .type = EdgeType::hidden},
                    {.from = 1, .to = 2, .type = EdgeType::attribute, .label = "history"},
                    {.from = 2, .to = 3, .type = EdgeType::index, .label = "30"}}};
}

TEST(HolderTextTest, SaysRootAttributeContainerIndexAndGraph) {
  const Holder holder{.path = {0, 1, 2}, .held = 3, .container = 2, .graph = 4};
  EXPECT_EQ(path_text(trainer_with_history(), holder),
            "train.trainer (Trainer) .history (list, len 31) [30] -> Tensor -> MseLossBackward0");
}

TEST(HolderTextTest, PartsAreTheObjectsOfThePathWithoutWhatNoPersonNames) {
  const Holder holder{.path = {0, 1, 2}, .held = 3, .container = 2, .graph = 4};
  const auto parts = path_parts(trainer_with_history(), holder);
  ASSERT_EQ(parts.size(), 4U);
  const std::vector<std::string> by{"", ".history", "[30]", ".grad_fn"};
  const std::vector<std::string> what{"train.trainer (Trainer)", "list, len 31", "Tensor", "MseLossBackward0"};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i].by, by[i]);
    EXPECT_EQ(parts[i].what, what[i]);
    EXPECT_EQ(parts[i].is_container, i == 1);
  }
  EXPECT_TRUE(path_parts(trainer_with_history(), {}).empty());
}

// Nodes of a linked list, each with its attributes in a dictionary.
std::pair<ObjectGraph, Holder> linked(int nodes) {
  ObjectGraph graph{.nodes = {{.type = "Chain", .name = "train.chain"}}};
  Holder holder;
  const auto lead_to = [&](const ObjectNode& node, EdgeType type, const std::string& label) {
    const auto from = static_cast<int>(graph.nodes.size()) - 1;
    graph.nodes.push_back(node);
    holder.path.push_back(static_cast<int>(graph.edges.size()));
    graph.edges.push_back({from, from + 1, type, label});
    holder.held = from + 1;
  };
  for (int i = 0; i < nodes; ++i) {
    lead_to({}, EdgeType::hidden, "");
    lead_to({.type = "Node"}, EdgeType::attribute, "next");
  }
  lead_to({.type = "Tensor"}, EdgeType::attribute, "loss");
  return {graph, holder};
}

TEST(HolderTextTest, TellsOnceWhatLeadsOnAndOnTheSameWay) {
  const auto [graph, holder] = linked(30);
  EXPECT_EQ(path_text(graph, holder), "train.chain (Chain) .next (Node) (30 times) .loss -> Tensor");
  const auto [other_graph, other] = linked(20);
  EXPECT_EQ(shape_text(graph, holder), shape_text(other_graph, other));
  const auto [short_graph, few] = linked(3);
  EXPECT_EQ(path_text(short_graph, few), "train.chain (Chain) .next (Node) .next (Node) .next (Node) .loss -> Tensor");
}

TEST(HolderTextTest, ShapeLeavesOutLengthsIndicesAndTheGraph) {
  const Holder holder{.path = {0, 1, 2}, .held = 3, .container = 2, .graph = 4};
  EXPECT_EQ(shape_text(trainer_with_history(), holder), "train.trainer (Trainer) .history (list) [] -> Tensor");
}

TEST(HolderTextTest, ShapeIsTheSameWhereOnlyLengthsAndIndicesDiffer) {
  auto longer = trainer_with_history();
  longer.nodes[2].length = 274;
  longer.edges[2].label = "271";
  const Holder holder{.path = {0, 1, 2}, .held = 3, .container = 2};
  EXPECT_EQ(shape_text(longer, holder), shape_text(trainer_with_history(), holder));
  EXPECT_NE(path_text(longer, holder), path_text(trainer_with_history(), holder));
}

TEST(HolderTextTest, ShapeDiffersWhereAnAttributeDoes) {
  auto other = trainer_with_history();
  other.edges[1].label = "losses";
  const Holder holder{.path = {0, 1, 2}, .held = 3, .container = 2};
  EXPECT_NE(shape_text(other, holder), shape_text(trainer_with_history(), holder));
}

TEST(HolderTextTest, ContainerAtTheEndIsSaidOnce) {
  const Holder holder{.path = {0, 1}, .held = 2, .container = 2};
  EXPECT_EQ(path_text(trainer_with_history(), holder), "train.trainer (Trainer) .history (list, len 31)");
}

TEST(HolderTextTest, RootMayBeWhatIsHeld) {
  const ObjectGraph graph{.nodes = {{.type = "list", .name = "train.history", .length = 3}}, .edges = {}};
  EXPECT_EQ(path_text(graph, {.path = {}, .held = 0, .container = 0}), "train.history (list, len 3)");
}

TEST(HolderTextTest, ShapeTellsKeysThatReadAsNamesApartAndNotTheirNumbers) {
  const auto shape_of = [](std::int64_t length, const std::string& label) {
    const ObjectGraph graph{.nodes = {{.type = "Net", .name = "train.net", .length = length}, {.type = "Tensor"}},
                            .edges = {{.from = 0, .to = 1, .type = EdgeType::attribute, .label = label}}};
    return shape_text(graph, {.path = {0}, .held = 1});
  };
  EXPECT_EQ(shape_of(14, "task13"), shape_of(15, "task9"));
  EXPECT_NE(shape_of(2, "flow"), shape_of(2, "total"));
  // An attribute was named by a person.
  EXPECT_NE(shape_of(-1, "layer1"), shape_of(-1, "layer2"));
}

TEST(HolderTextTest, KeysAreSaidInThePathOnly) {
  const ObjectGraph graph{.nodes = {{.type = "dict", .name = "train.logs", .length = 2}, {.type = "Tensor"}},
                          .edges = {{.from = 0, .to = 1, .type = EdgeType::key, .label = "'a loss'"}}};
  const Holder holder{.path = {0}, .held = 1, .container = 0};
  EXPECT_EQ(path_text(graph, holder), "train.logs (dict, len 2) ['a loss'] -> Tensor");
  EXPECT_EQ(shape_text(graph, holder), "train.logs (dict) [] -> Tensor");
}

TEST(HolderTextTest, TensorOnTheWayIsNotNamedButItsSubclassIs) {
  ObjectGraph graph{.nodes = {{.name = "local of main"}, {.type = "Tensor"}, {.type = "Parameter"}},
                    .edges = {{.from = 0, .to = 1, .type = EdgeType::attribute, .label = "weight"},
                              {.from = 1, .to = 2, .type = EdgeType::attribute, .label = "grad"}}};
  const Holder holder{.path = {0, 1}, .held = 2};
  EXPECT_EQ(path_text(graph, holder), "local of main .weight .grad (Parameter) -> Parameter");
  graph.nodes[2].type = "Tensor";
  EXPECT_EQ(path_text(graph, holder), "local of main .weight .grad -> Tensor");
}

TEST(HolderTextTest, UnknownWayIsAnArrow) {
  const ObjectGraph graph{.nodes = {{.type = "Box", .name = "step"}, {.type = "Tensor"}},
                          .edges = {{.from = 0, .to = 1, .type = EdgeType::other}}};
  EXPECT_EQ(path_text(graph, {.path = {0}, .held = 1}), "step (Box) -> Tensor");
  EXPECT_EQ(shape_text(graph, {.path = {0}, .held = 1}), "step (Box) -> -> Tensor");
}

TEST(HolderTextTest, NothingHeldIsNoText) { EXPECT_EQ(path_text({}, {}), ""); }

TEST(HolderTextTest, SaysTheHeadOfALoopWithoutItsColon) {
  const Structure structure{.type = StructureType::reset, .file = "train.py", .line = 4, .text = "for kept in make():"};
  EXPECT_EQ(structure_text(structure), "emptied by train.py:4  for kept in make()");
}

TEST(HolderTextTest, SaysWhatIsDeclaredAndWhetherItWasKept) {
  Structure structure{
      .type = StructureType::declared, .bound = 500, .file = "train.py", .line = 4, .text = "bounded(self.kept, 500)"};
  EXPECT_EQ(structure_text(structure), "declared to hold at most 500 by train.py:4  bounded(self.kept, 500)");
  structure.type = StructureType::exceeded;
  EXPECT_EQ(structure_text(structure),
            "holds more than the 500 that are declared by train.py:4  bounded(self.kept, 500)");
}

}  // namespace
}  // namespace stepleak
