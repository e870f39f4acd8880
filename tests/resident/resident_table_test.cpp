#include "resident/resident_table.hpp"

#include "support/sample_entries.hpp"
#include "support/scale.hpp"
#include "support/seed.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <random>
#include <thread>

namespace hearth::resident {

namespace {

// A table starts with this many places; a key's place is taken from its second eight bytes, its tag from its first.
constexpr std::uint64_t k_places = 256;

Key crafted(std::uint64_t tag, std::uint64_t place, std::uint8_t tail)
{
    Key key;
    std::memcpy(key.digest.data(), &tag, sizeof tag);
    std::memcpy(key.digest.data() + sizeof tag, &place, sizeof place);
    key.digest.back() = tail;
    return key;
}

// What a tier in memory keeps with a node.
struct ArtifactNode final : Node {
    ArtifactNode(const Key& key, std::shared_ptr<const Artifact> the_artifact)
        : Node(key, the_artifact->size(), *the_artifact), artifact(std::move(the_artifact))
    {
    }
    const Artifact& about() const noexcept override { return *artifact; }
    const std::shared_ptr<const Artifact> artifact;
};

Node* node_for(const Key& key)
{
    return new ArtifactNode(key, test::sample_artifact(key, 8));
}

const Artifact& artifact_of(const Node* node)
{
    return *static_cast<const ArtifactNode*>(node)->artifact;
}

// Takes the key out and gives the node to the hazard domain, as the tier does.
bool drop(ResidentTable& table, const Key& key)
{
    Node* const node = table.take(key);
    if (node)
        base::retire(node);
    return node != nullptr;
}

bool holds(const ResidentTable& table, const Key& key)
{
    const ResidentTable::Protected found = table.find(key);
    EXPECT_FALSE(found.unsure);
    if (!found.node)
        return false;
    EXPECT_EQ(found.node->resident.key, key);
    EXPECT_EQ(table.peek(key), found.node);
    base::release_slot(found.slot);
    return true;
}

}  // namespace

// A hit reads two neighbouring cache lines, and no third.
TEST(ResidentTable, nodes_begin_where_two_cache_lines_do)
{
    std::vector<std::unique_ptr<Node>> nodes;
    for (std::uint8_t i = 0; i < 200; ++i) {
        nodes.emplace_back(node_for(crafted(1, 1, i)));
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(nodes.back().get()) % 128, 0U);
    }
}

TEST(ResidentTable, keys_with_the_same_tag_and_place_are_told_apart)
{
    ResidentTable table;
    for (std::uint8_t tail = 0; tail < 60; ++tail)
        EXPECT_EQ(table.put(node_for(crafted(42, 7, tail))), nullptr);
    for (std::uint8_t tail = 0; tail < 60; ++tail)
        EXPECT_TRUE(holds(table, crafted(42, 7, tail)));
    EXPECT_FALSE(holds(table, crafted(42, 7, 60)));
    EXPECT_FALSE(holds(table, crafted(42, 8, 0)));
    EXPECT_FALSE(holds(table, crafted(43, 7, 0)));
    EXPECT_EQ(table.size(), 60U);
}

TEST(ResidentTable, a_key_of_zeros_is_a_key_like_any_other)
{
    ResidentTable table;
    EXPECT_FALSE(holds(table, Key{}));
    table.put(node_for(Key{}));
    EXPECT_TRUE(holds(table, Key{}));
    EXPECT_FALSE(holds(table, crafted(1, 0, 0)));  // the tag that stands for zero
    table.put(node_for(crafted(1, 0, 0)));
    EXPECT_TRUE(drop(table, Key{}));
    EXPECT_FALSE(holds(table, Key{}));
    EXPECT_TRUE(holds(table, crafted(1, 0, 0)));
}

TEST(ResidentTable, it_grows_and_loses_nobody)
{
    ResidentTable table;
    constexpr std::uint64_t k_count = 20'000;
    for (std::uint64_t number = 0; number < k_count; ++number) {
        table.put(node_for(test::numbered_key(number)));
        ASSERT_TRUE(holds(table, test::numbered_key(number / 2)));
    }
    EXPECT_EQ(table.size(), k_count);
    std::uint64_t visited = 0;
    table.for_each([&](Node&) { ++visited; });
    EXPECT_EQ(visited, k_count);
    for (std::uint64_t number = 0; number < k_count; ++number)
        ASSERT_TRUE(holds(table, test::numbered_key(number)));
    for (std::uint64_t number = 0; number < k_count; ++number)
        ASSERT_TRUE(drop(table, test::numbered_key(number)));
    EXPECT_EQ(table.size(), 0U);
}

// Removal closes its gap by moving entries up. Few places, at the end of the table, make long runs that wrap around.
TEST(ResidentTable, removing_from_crowded_places_agrees_with_a_plain_map)
{
    std::mt19937_64 random(test::seed());
    for (std::uint64_t round = 0; round < test::scaled(20); ++round) {
        ResidentTable table;
        std::map<Key, Node*> model;
        for (int step = 0; step < 3000; ++step) {
            const Key key =
                crafted(1 + random() % 3, k_places - 4 + random() % 8, static_cast<std::uint8_t>(random() % 4));
            if (random() % 2 == 0) {
                Node* const node = node_for(key);
                Node* const old = table.put(node);
                ASSERT_EQ(old, model.contains(key) ? model.at(key) : nullptr);
                if (old)
                    base::retire(old);
                model[key] = node;
            } else {
                ASSERT_EQ(drop(table, key), model.erase(key) == 1);
            }
            ASSERT_EQ(table.size(), model.size());
            for (const auto& [held, node] : model)
                ASSERT_EQ(table.peek(held), node);
        }
        for (const auto& [held, node] : model)
            ASSERT_TRUE(holds(table, held));
    }
}

TEST(ResidentTable, a_protected_node_outlives_its_removal_and_the_table)
{
    const std::size_t before = base::retired_count();
    ResidentTable::Protected removed;
    ResidentTable::Protected left;
    {
        ResidentTable table;
        table.put(node_for(crafted(1, 1, 1)));
        table.put(node_for(crafted(2, 2, 2)));
        removed = table.find(crafted(1, 1, 1));
        left = table.find(crafted(2, 2, 2));
        drop(table, crafted(1, 1, 1));
    }
    ASSERT_TRUE(removed.node && left.node);
    EXPECT_EQ(base::retired_count(), before + 2);
    EXPECT_EQ(artifact_of(removed.node).text(), test::sample_bytes(crafted(1, 1, 1), 8).text());
    EXPECT_EQ(artifact_of(left.node).text(), test::sample_bytes(crafted(2, 2, 2), 8).text());
    base::release_slot(removed.slot);
    base::release_slot(left.slot);
    base::reclaim();
    EXPECT_EQ(base::retired_count(), before);
}

namespace {

// Readers look for keys that stay while a writer changes everything around them.
class Crowd {
public:
    // `churn` is called over and over, under the lock, with the table and a number.
    Crowd(std::vector<Key> staying, std::function<void(ResidentTable&, std::uint64_t)> churn)
        : m_staying(std::move(staying)), m_churn(std::move(churn))
    {
        for (const Key& key : m_staying)
            m_table.put(node_for(key));
    }

    void run(std::uint64_t steps)
    {
        std::vector<std::jthread> readers;
        for (unsigned number = 0; number < 3; ++number)
            readers.emplace_back([this, number] { read(number); });
        for (std::uint64_t step = 0; step < steps; ++step) {
            const std::lock_guard lock(m_mutex);
            m_churn(m_table, step);
        }
        m_done = true;
    }

private:
    void read(unsigned first)
    {
        for (std::size_t i = first; !m_done; i = (i + 1) % m_staying.size()) {
            const Key& key = m_staying[i];
            ResidentTable::Protected found = m_table.find(key);
            if (found.unsure) {
                ASSERT_EQ(found.node, nullptr);
                const std::lock_guard lock(m_mutex);
                ASSERT_NE(m_table.peek(key), nullptr);
                continue;
            }
            ASSERT_NE(found.node, nullptr) << "an entry that was there all along";
            const bool right = found.node->resident.key == key && test::is_sample_of(artifact_of(found.node), key);
            base::release_slot(found.slot);
            ASSERT_TRUE(right);
        }
    }

    const std::vector<Key> m_staying;
    const std::function<void(ResidentTable&, std::uint64_t)> m_churn;
    ResidentTable m_table;
    std::mutex m_mutex;
    std::atomic<bool> m_done{false};
};

std::vector<Key> crowded_keys()
{
    std::vector<Key> keys;
    for (std::uint8_t tail = 100; tail < 130; ++tail)
        keys.push_back(crafted(1 + tail % 3U, k_places - 5 + tail % 4U, tail));
    return keys;
}

}  // namespace

TEST(ResidentTable, readers_never_miss_what_stays_while_its_neighbours_are_removed)
{
    Crowd crowd(crowded_keys(), [](ResidentTable& table, std::uint64_t step) {
        const Key key = crafted(1 + step % 3, k_places - 6 + step % 7, static_cast<std::uint8_t>(step % 40));
        if (!drop(table, key))
            table.put(node_for(key));
    });
    crowd.run(test::scaled(100'000));
}

TEST(ResidentTable, readers_never_miss_what_is_replaced_all_the_time)
{
    const std::vector<Key> keys = crowded_keys();
    Crowd crowd(keys, [&](ResidentTable& table, std::uint64_t step) {
        if (Node* const old = table.put(node_for(keys[step % keys.size()])))
            base::retire(old);
    });
    crowd.run(test::scaled(200'000));
}

TEST(ResidentTable, readers_never_miss_what_stays_while_the_table_grows)
{
    for (std::uint64_t round = 0; round < test::scaled(20); ++round) {
        Crowd crowd(crowded_keys(), [](ResidentTable& table, std::uint64_t step) {
            table.put(node_for(test::numbered_key(step)));
            if (step % 3 == 0)
                drop(table, test::numbered_key(step / 3));
        });
        crowd.run(5000);
    }
}

TEST(ResidentTable, slices_visit_every_node_once)
{
    ResidentTable table;
    std::map<Key, int> visits;
    for (std::uint64_t i = 0; i < 3000; ++i)
        table.put(node_for(test::numbered_key(i)));
    std::size_t slices = 0;
    std::size_t slot = 0;
    do {
        int in_this = 0;
        slot = table.for_some(slot, 100, [&](Node& node) {
            ++visits[node.resident.key];
            ++in_this;
        });
        EXPECT_LE(in_this, 100);
        ++slices;
    } while (slot != 0);
    EXPECT_GT(slices, 30U);
    EXPECT_EQ(visits.size(), 3000U);
    for (const auto& [key, times] : visits)
        EXPECT_EQ(times, 1);
}

}  // namespace hearth::resident
