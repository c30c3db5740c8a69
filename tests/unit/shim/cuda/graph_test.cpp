#include "ranks/shim/cuda/streams/graph.h"

#include <gtest/gtest.h>

namespace fb::shim {
namespace {

TEST(Graph, SortsBehindDependenciesWhateverTheOrderOfCreation) {
  const auto graph = make_graph();
  const auto late = *add_node(graph->handle, nullptr, 0, EmptyWork{});
  const auto early = *add_node(graph->handle, nullptr, 0, EmptyWork{});
  ASSERT_EQ(add_dependencies(graph->handle, &early, &late, 1), cudaSuccess);
  const auto sorted = sorted_nodes(*graph);
  ASSERT_TRUE(sorted);
  EXPECT_EQ((*sorted)[0]->handle, early);
  EXPECT_EQ((*sorted)[1]->handle, late);
}

TEST(Graph, RefusesACycle) {
  const auto graph = make_graph();
  const auto a = *add_node(graph->handle, nullptr, 0, EmptyWork{});
  const auto b = *add_node(graph->handle, &a, 1, EmptyWork{});
  ASSERT_EQ(add_dependencies(graph->handle, &b, &a, 1), cudaSuccess);
  EXPECT_EQ(sorted_nodes(*graph).error(), cudaErrorInvalidValue);
}

TEST(Graph, RefusesEdgesTwiceToItselfAndToOtherGraphs) {
  const auto graph = make_graph(), other = make_graph();
  const auto a = *add_node(graph->handle, nullptr, 0, EmptyWork{});
  const auto b = *add_node(graph->handle, &a, 1, EmptyWork{});
  const auto foreign = *add_node(other->handle, nullptr, 0, EmptyWork{});
  EXPECT_EQ(add_dependencies(graph->handle, &a, &b, 1), cudaErrorInvalidValue);
  EXPECT_EQ(add_dependencies(graph->handle, &a, &a, 1), cudaErrorInvalidValue);
  EXPECT_EQ(add_dependencies(graph->handle, &foreign, &b, 1), cudaErrorInvalidValue);
  EXPECT_EQ(remove_dependencies(graph->handle, &a, &b, 1), cudaSuccess);
  EXPECT_EQ(remove_dependencies(graph->handle, &a, &b, 1), cudaErrorInvalidValue);
}

TEST(Graph, HandlesOfADestroyedGraphAreForgotten) {
  const cudaGraph_t handle = make_graph()->handle;
  const auto node = *add_node(handle, nullptr, 0, EmptyWork{});
  EXPECT_EQ(destroy_graph(handle), cudaSuccess);
  EXPECT_EQ(destroy_graph(handle), cudaErrorInvalidValue);
  EXPECT_FALSE(find_node(node));
}

TEST(Graph, ACloneKnowsItsOriginalsAndLivesAlone) {
  const auto graph = make_graph();
  const auto a = *add_node(graph->handle, nullptr, 0, EmptyWork{});
  ASSERT_TRUE(add_node(graph->handle, &a, 1, EmptyWork{}));
  const auto clone = clone_graph(*graph);
  ASSERT_EQ(clone->nodes.size(), 2u);
  EXPECT_EQ(clone->nodes[0]->original, a);
  EXPECT_EQ(clone->nodes[1]->after, std::vector{clone->nodes[0].get()});
  EXPECT_EQ(destroy_node(a), cudaSuccess);
  EXPECT_EQ(clone->nodes.size(), 2u);
  EXPECT_TRUE(graph->nodes[0]->after.empty());
}

TEST(Graph, AChildGraphIsCopiedAndCannotBeDestroyedByItself) {
  const auto graph = make_graph(), child = make_graph();
  ASSERT_TRUE(add_node(child->handle, nullptr, 0, EmptyWork{}));
  const auto node = *add_node(graph->handle, nullptr, 0, ChildWork{.graph = child});
  ASSERT_TRUE(add_node(child->handle, nullptr, 0, EmptyWork{}));
  const auto& owned = std::get<ChildWork>((*find_node(node))->work).graph;
  EXPECT_EQ(owned->nodes.size(), 1u);
  EXPECT_EQ(destroy_graph(owned->handle), cudaErrorInvalidValue);
}

TEST(Graph, TheLastReferenceDestroysAUserObject) {
  static int destroyed = 0;
  auto object = std::make_shared<UserObject>();
  object->destroy = [](void*) { ++destroyed; };
  object->references = 2;
  {
    const auto graph = std::make_shared<Graph>();
    graph->objects.emplace_back(object, 1);
    const auto clone = clone_graph(*graph);
    object->release(1);
    EXPECT_EQ(destroyed, 0);
  }
  EXPECT_EQ(destroyed, 1);
}

}  // namespace
}  // namespace fb::shim
