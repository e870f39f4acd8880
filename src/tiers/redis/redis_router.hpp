#pragma once

#include "base/fork.hpp"
#include "tiers/redis/redis_answers.hpp"
#include "tiers/redis/redis_node.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hearth::tiers::redis {

// Sends commands to the server that has their key: the only one, or in a cluster the master that has the key's slot, as
// the cluster's map says. Follows the map when it changes.
//
//   MOVED             asked again where it points to; the next command fetches the map anew
//   ASK               asked again there, once, with ASKING
//   not reached       the map is fetched from another node; asked again if it names another master. The node is left
//                     alone for a while, and what only it has is not there meanwhile; the others go on
//
// The map is fetched at most every k_refresh_every, by one thread; the others go on with the one they have. So during a
// failover, requests for its keys fail at once, and soon after it they succeed again.
// Thread safety: all of it; no lock is held over input or output. Cost: that of a RedisNode, for each node in turn.
class Router {
public:
    explicit Router(std::shared_ptr<const RedisSettings> settings);

    // Afterwards every task has its answer or its error.
    void run(std::span<Task* const> tasks, SteadyTime deadline);
    // The servers that together hold every key once.
    Result<std::vector<std::shared_ptr<RedisNode>>> holders(SteadyTime deadline);
    bool is_partly_down();
    // Whether the master that has this key is left alone for now.
    bool rests(std::string_view key);
    void after_fork() noexcept;
    std::string description();
    std::string address() const;

private:
    using Node = std::shared_ptr<RedisNode>;

    // A map with its nodes. It never changes; a new one replaces it.
    struct Routes {
        SlotMap map;
        std::vector<Node> masters;  // as in the map

        Node node_for(std::string_view key) const;
    };
    using SharedRoutes = std::shared_ptr<const Routes>;

    static constexpr std::chrono::milliseconds k_refresh_every{100};
    static constexpr std::size_t k_most_asked = 8;  // nodes to ask for one map
    static constexpr int k_most_redirections = 3;
    static constexpr std::size_t k_most_others = 64;  // nodes that are no masters of the map, each with connections
    // Masters whose connections stay open. A map can name a thousand, and a program has that many descriptors in all.
    static constexpr std::size_t k_most_kept = 128;

    // The present map. The first time, and if the map may be wrong, it is fetched now.
    Result<SharedRoutes> routes(SteadyTime deadline);
    // A map newer than `old` if one can be fetched now; else `old`.
    SharedRoutes refreshed(SharedRoutes old, SteadyTime deadline);
    Result<SharedRoutes> fetch(SteadyTime deadline);
    Result<SharedRoutes> fetch_from(const Node& node, SteadyTime deadline);
    std::vector<Endpoint> to_ask();
    Node node_at(const Endpoint& endpoint, RedisNode::Keep keep = RedisNode::Keep::descriptors);
    void distrust(const Endpoint& endpoint);

    SharedRoutes known();
    enum class How : std::uint8_t { one_by_one, together };
    // Asks one node, unless it is left alone for now.
    static void ask(RedisNode& node, std::span<Task* const> tasks, SteadyTime deadline, How how);
    static void ask_anyway(RedisNode& node, std::span<Task* const> tasks, SteadyTime deadline, How how);
    void run_by_node(const Routes& routes, std::span<Task* const> tasks, SteadyTime deadline);
    void follow(Task& task, Endpoint asked, SteadyTime deadline);

    const std::shared_ptr<const RedisSettings> m_settings;
    const Node m_only;  // none in a cluster, whose nodes are below
    base::ForkSafeMutex m_mutex{base::LockLevel::tier_part};
    SharedRoutes m_routes;
    std::map<Endpoint, Node> m_nodes;
    bool m_stale = false;       // the map may be wrong
    bool m_refreshing = false;  // a thread is fetching another
    SteadyTime m_refreshed{};
    std::optional<Endpoint> m_suspect;  // the node that failed last, which is asked last
};

}  // namespace hearth::tiers::redis
