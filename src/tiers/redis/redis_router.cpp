#include "tiers/redis/redis_router.hpp"

#include "base/error.hpp"
#include "tiers/redis/redis_errors.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <mutex>
#include <utility>

namespace hearth::tiers::redis {

namespace {

using std::chrono::steady_clock;

// The node itself failed; it did not refuse.
bool is_lost(const Task& task)
{
    return !task.answer.ok() && task.refusal.empty() && task.answer.error().code == Code::unavailable;
}

bool is_silent(const Task& task)
{
    return is_lost(task) || (!task.answer.ok() && task.refusal.empty() && task.answer.error().code == Code::timeout);
}

bool speaks_against_map(const Task& task)
{
    if (task.answer.ok())
        return false;
    if (task.refusal.empty())
        return is_silent(task);
    return task.refusal.starts_with("MOVED") || task.refusal.starts_with("CLUSTERDOWN") ||
           task.refusal.starts_with("READONLY") || task.refusal.starts_with("LOADING") ||
           task.refusal.starts_with("MASTERDOWN");
}

}  // namespace

Router::Router(std::shared_ptr<const RedisSettings> settings)
    : m_settings(std::move(settings)),
      m_only(m_settings->topology == Topology::single
                 ? std::make_shared<RedisNode>(m_settings, m_settings->endpoints.front())
                 : nullptr)
{
}

Router::Node Router::Routes::node_for(std::string_view key) const
{
    const std::uint16_t owner = map.owner[slot_of(key)];
    return owner == SlotMap::k_nobody ? nullptr : masters[owner];
}

void Router::run(std::span<Task* const> tasks, SteadyTime deadline)
{
    if (m_only)
        return m_only->run(tasks, deadline);
    if (tasks.empty())
        return;
    Result<SharedRoutes> found = routes(deadline);
    if (!found.ok()) {
        for (Task* task : tasks)
            task->answer = found.error();
        return;
    }
    const SharedRoutes map = *std::move(found);
    run_by_node(*map, tasks, deadline);

    std::vector<Task*> lost;
    std::copy_if(tasks.begin(), tasks.end(), std::back_inserter(lost), [](Task* task) { return is_lost(*task); });
    if (lost.empty())
        return;
    const SharedRoutes newer = refreshed(map, deadline);
    // If the map still names the same master, its error stays: there is nobody else to ask.
    std::erase_if(lost,
                  [&](Task* task) { return newer->node_for(task->command.key) == map->node_for(task->command.key); });
    run_by_node(*newer, lost, deadline);
}

void Router::run_by_node(const Routes& routes, std::span<Task* const> tasks, SteadyTime deadline)
{
    std::map<Node, std::vector<Task*>> groups;
    for (Task* task : tasks)
        groups[routes.node_for(task->command.key)].push_back(task);
    std::size_t left = groups.size();
    for (const auto& [node, group] : groups) {
        // A node that hangs leaves the others their share of the time.
        const SteadyTime now = steady_clock::now();
        const SteadyTime until = now + std::max(deadline - now, SteadyTime::duration::zero()) / left--;
        if (!node) {
            for (Task* task : group)
                task->answer = error(Code::unavailable,
                                     "No master of the redis cluster at {} serves slot {}. See what redis-cli "
                                     "--cluster check says.",
                                     address(), slot_of(task->command.key));
            const std::lock_guard lock(m_mutex);
            m_stale = true;
            continue;
        }
        ask(*node, group, until, How::one_by_one);
        if (std::any_of(group.begin(), group.end(), [](const Task* task) { return speaks_against_map(*task); }))
            distrust(node->endpoint());
        for (Task* task : group)
            if (!task->refusal.empty())
                follow(*task, node->endpoint(), deadline);
    }
}

void Router::ask(RedisNode& node, std::span<Task* const> tasks, SteadyTime deadline, How how)
{
    if (!node.breaker().allows()) {
        for (Task* task : tasks) {
            task->answer = error(Code::unavailable, "Redis at {} did not answer, and is left alone for now.",
                                 node.endpoint().shown());
            task->refusal.clear();
        }
        return;
    }
    ask_anyway(node, tasks, deadline, how);
}

void Router::ask_anyway(RedisNode& node, std::span<Task* const> tasks, SteadyTime deadline, How how)
{
    // What came too late to be asked says nothing about the node.
    const bool is_late = steady_clock::now() >= deadline;
    if (how == How::together)
        node.run_together(tasks, deadline);
    else
        node.run(tasks, deadline);
    if (is_late)
        return;
    if (std::any_of(tasks.begin(), tasks.end(), [](const Task* task) { return is_silent(*task); }))
        node.breaker().failed(remotes::Breaker::Failure::server);
    else
        node.breaker().succeeded();
}

void Router::follow(Task& task, Endpoint asked, SteadyTime deadline)
{
    for (int i = 0; i < k_most_redirections; ++i) {
        const std::optional<Redirection> redirection = parse_redirection(task.refusal, asked);
        if (!redirection)
            return;
        const Node node = node_at(redirection->to);
        Task asking;
        asking.command = Command({}, {"ASKING"});
        Task* const both[] = {&asking, &task};
        if (redirection->kind == Redirection::Kind::moved)
            ask(*node, std::span(both).last(1), deadline, How::one_by_one);
        else
            ask(*node, both, deadline, How::together);
        asked = redirection->to;
    }
}

Result<Router::SharedRoutes> Router::routes(SteadyTime deadline)
{
    SharedRoutes now;
    bool stale = false;
    {
        const std::lock_guard lock(m_mutex);
        now = m_routes;
        stale = m_stale;
    }
    if (!now)
        return fetch(deadline);
    return stale ? refreshed(std::move(now), deadline) : now;
}

Router::SharedRoutes Router::refreshed(SharedRoutes old, SteadyTime deadline)
{
    {
        const std::lock_guard lock(m_mutex);
        if (m_routes && m_routes != old)
            return m_routes;
        if (m_refreshing || steady_clock::now() - m_refreshed < k_refresh_every)
            return old;
        m_refreshing = true;
    }
    Result<SharedRoutes> fetched = fetch(deadline);
    const std::lock_guard lock(m_mutex);
    m_refreshing = false;
    m_refreshed = steady_clock::now();
    return fetched.ok() ? *std::move(fetched) : old;
}

Result<Router::SharedRoutes> Router::fetch(SteadyTime deadline)
{
    std::optional<Error> error;
    for (const Endpoint& endpoint : to_ask()) {
        const SteadyTime now = steady_clock::now();
        if (now >= deadline)
            return passed_deadline(address());
        // A node that hangs leaves half of the time to the others.
        Result<SharedRoutes> fetched = fetch_from(node_at(endpoint), now + (deadline - now) / 2);
        if (fetched.ok())
            return fetched;
        // A refused password says more than a node that cannot be reached.
        if (!error || fetched.error().code == Code::denied)
            error = fetched.error();
    }
    return *error;
}

Result<Router::SharedRoutes> Router::fetch_from(const Node& node, SteadyTime deadline)
{
    Task task;
    task.command = Command({}, {"CLUSTER", "SLOTS"});
    Task* const one[] = {&task};
    ask_anyway(*node, one, deadline, How::one_by_one);
    HEARTH_TRY(task.answer);
    Result<SlotMap> map = parse_slots(*task.answer, node->endpoint());
    if (!map.ok())
        return not_redis(node->endpoint().shown(), map.error().message);
    if (map->masters.empty())
        return error(Code::unavailable,
                     "Redis at {} is in no cluster that serves anything. Make one with redis-cli --cluster "
                     "create.",
                     node->endpoint().shown());
    auto made = std::make_shared<Routes>();
    made->map = *std::move(map);
    for (const Endpoint& master : made->map.masters)
        made->masters.push_back(
            node_at(master, made->masters.size() < k_most_kept ? RedisNode::Keep::descriptors : RedisNode::Keep::none));

    // Nodes that left the cluster are destroyed when no lock is held, since they have locks of their own.
    std::map<Endpoint, Node> left;
    SharedRoutes replaced;
    {
        const std::lock_guard lock(m_mutex);
        replaced = std::exchange(m_routes, made);
        m_stale = false;
        left.swap(m_nodes);
        for (const Node& master : made->masters)
            m_nodes[master->endpoint()] = master;
    }
    return SharedRoutes(std::move(made));
}

// The nodes to ask for the map: masters and replicas of the present one, then those of the address. Those that failed
// come last, also if another process of this machine found that out.
std::vector<Endpoint> Router::to_ask()
{
    std::vector<Endpoint> all;
    std::unique_lock lock(m_mutex);
    const auto add = [&](const std::vector<Endpoint>& endpoints) {
        for (const Endpoint& endpoint : endpoints)
            if (endpoint != m_suspect && std::find(all.begin(), all.end(), endpoint) == all.end() &&
                all.size() < k_most_asked - 1)
                all.push_back(endpoint);
    };
    if (m_routes) {
        add(m_routes->map.masters);
        add(m_routes->map.replicas);
    }
    add(m_settings->endpoints);
    if (m_suspect)
        all.push_back(*m_suspect);
    lock.unlock();
    std::stable_partition(all.begin(), all.end(),
                          [&](const Endpoint& endpoint) { return !node_at(endpoint)->breaker().left_alone(); });
    return all;
}

Router::Node Router::node_at(const Endpoint& endpoint, RedisNode::Keep keep)
{
    {
        const std::lock_guard lock(m_mutex);
        if (const auto found = m_nodes.find(endpoint); found != m_nodes.end())
            return found->second;
    }
    // Created without the lock, and destroyed without it if another thread was faster: it has locks of its own.
    Node made = std::make_shared<RedisNode>(m_settings, endpoint, keep);
    std::map<Endpoint, Node> left;
    const std::lock_guard lock(m_mutex);
    // A server that sends us on names as many as it likes.
    if (m_nodes.size() >= (m_routes ? m_routes->masters.size() : 0) + k_most_others) {
        left.swap(m_nodes);
        if (m_routes)
            for (const Node& master : m_routes->masters)
                m_nodes[master->endpoint()] = master;
    }
    return m_nodes.emplace(endpoint, made).first->second;
}

void Router::distrust(const Endpoint& endpoint)
{
    const std::lock_guard lock(m_mutex);
    m_stale = true;
    m_suspect = endpoint;
}

Result<std::vector<Router::Node>> Router::holders(SteadyTime deadline)
{
    if (m_only)
        return std::vector{m_only};
    HEARTH_TRY_SET(const SharedRoutes found, routes(deadline));
    return found->masters;
}

Router::SharedRoutes Router::known()
{
    const std::lock_guard lock(m_mutex);
    return m_routes;
}

bool Router::is_partly_down()
{
    const SharedRoutes routes = m_only ? nullptr : known();
    return routes && remotes::are_partly_down(routes->masters);
}

bool Router::rests(std::string_view key)
{
    const SharedRoutes routes = m_only ? nullptr : known();
    const Node node = routes ? routes->node_for(key) : nullptr;
    return node && node->breaker().left_alone();
}

void Router::after_fork() noexcept
{
    if (m_only)
        m_only->after_fork();
    std::map<Endpoint, Node> nodes;
    {
        const std::lock_guard lock(m_mutex);
        nodes = m_nodes;
        m_refreshing = false;
    }
    for (const auto& [endpoint, node] : nodes)
        node->after_fork();
}

std::string Router::description()
{
    const SharedRoutes known = this->known();
    const std::vector<Node> nodes = m_only ? std::vector{m_only} : known ? known->masters : std::vector<Node>{};
    std::string version;
    for (std::size_t i = 0; i < nodes.size() && version.empty(); ++i)
        version = nodes[i]->version();
    if (!version.empty())
        version = " " + version;
    if (m_only || !known)
        return fmt::format("redis{}{} at {}", m_only ? "" : " cluster", version, address());
    return fmt::format("redis cluster{}, {} master{}, at {}", version, nodes.size(), nodes.size() == 1 ? "" : "s",
                       address());
}

std::string Router::address() const
{
    std::string all;
    for (const Endpoint& endpoint : m_settings->endpoints)
        all += (all.empty() ? "" : ",") + endpoint.shown();
    return all;
}

}  // namespace hearth::tiers::redis
