#include "remote/balanced_store.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

namespace hearth::remotes {

namespace {

constexpr std::chrono::seconds k_longest_probe{2};

// Neither may change: the caches of the endpoints are filled by this order.
std::uint64_t hash_of(std::string_view text)
{
    std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a
    for (const char c : text)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
    return hash;
}

std::uint64_t mixed(std::uint64_t hash)
{
    hash = (hash ^ (hash >> 30U)) * 0xBF58476D1CE4E5B9U;  // the end of splitmix64
    hash = (hash ^ (hash >> 27U)) * 0x94D049BB133111EBU;
    return hash ^ (hash >> 31U);
}

template <class Answer>
const Error* error_of(const Answer& answer)
{
    return answer.ok() ? nullptr : &answer.error();
}

// Another endpoint may do better.
bool is_lost(const Error* error)
{
    return error != nullptr && failure_of(error) == Breaker::Failure::server;
}

template <class Item>
std::vector<Item> chosen(std::span<const Item> items, std::span<const std::size_t> which)
{
    std::vector<Item> some;
    some.reserve(which.size());
    for (const std::size_t i : which)
        some.push_back(items[i]);
    return some;
}

}  // namespace

class BalancedStore::Server {
public:
    Server(Endpoint endpoint, const StoreOptions& options, Breaker::Clock clock)
        : m_endpoint(std::move(endpoint)), m_hash(mixed(hash_of(m_endpoint.address))),
          m_breaker(state_file_of(options.state_file, m_endpoint.address), std::move(clock), options.state_users)
    {
    }
    const std::string& address() const { return m_endpoint.address; }
    RemoteStore& store() const { return *m_endpoint.store; }
    Breaker& breaker() { return m_breaker; }
    // The heaviest is the first in a name's order.
    std::uint64_t weight(std::uint64_t hash_of_name) const { return mixed(m_hash ^ hash_of_name); }

private:
    const Endpoint m_endpoint;
    const std::uint64_t m_hash;
    Breaker m_breaker;
};

// Which servers one call may still ask. A breaker is asked only for a server that is then asked itself: it may make the
// caller the one that tries.
class BalancedStore::Call {
    enum class State : std::uint8_t { unknown, usable, rests, failed };

public:
    explicit Call(const BalancedStore& store) : m_servers(store.m_servers), m_states(m_servers.size()) {}

    // Null: there is none left.
    Server* next(std::string_view name)
    {
        const std::uint64_t hash = hash_of(name);
        std::vector<std::pair<std::uint64_t, std::size_t>> order;
        order.reserve(m_servers.size());
        for (std::size_t i = 0; i < m_servers.size(); ++i)
            order.emplace_back(m_servers[i]->weight(hash), i);
        std::sort(order.rbegin(), order.rend());
        for (const State wanted : {State::usable, State::rests})
            for (const auto& [weight, i] : order) {
                if (m_states[i] == State::unknown)
                    m_states[i] = m_servers[i]->breaker().allows() ? State::usable : State::rests;
                if (m_states[i] == wanted)
                    return m_servers[i].get();
            }
        return nullptr;
    }
    void failed(const Server& server)
    {
        for (std::size_t i = 0; i < m_servers.size(); ++i)
            if (m_servers[i].get() == &server)
                m_states[i] = State::failed;
    }
    // All of the time there is goes to the last one.
    SteadyTime deadline_of(const Server& server, SteadyTime deadline) const
    {
        for (std::size_t i = 0; i < m_servers.size(); ++i) {
            const bool may_be_next =
                m_states[i] == State::usable || (m_states[i] == State::unknown && !m_servers[i]->breaker().is_down());
            if (may_be_next && m_servers[i].get() != &server) {
                const SteadyTime now = std::chrono::steady_clock::now();
                return now + (deadline - now) / 2;
            }
        }
        return deadline;
    }

private:
    const std::vector<std::unique_ptr<Server>>& m_servers;
    std::vector<State> m_states;
};

BalancedStore::BalancedStore(std::vector<Endpoint> endpoints, const StoreOptions& options, Breaker::Clock clock)
    : m_tell(options.tell)
{
    for (Endpoint& endpoint : endpoints)
        m_servers.push_back(std::make_unique<Server>(std::move(endpoint), options, clock));
}

BalancedStore::~BalancedStore() = default;

void BalancedStore::settle(Server& server, const Error* error)
{
    const std::optional<Breaker::Failure> failure = failure_of(error);
    if (!failure)
        return server.breaker().succeeded();
    server.breaker().failed(*failure);
    if (m_tell)
        m_tell(error->message);
}

template <class Answer>
std::vector<Answer> BalancedStore::ask_many(const std::vector<std::string_view>& names, SteadyTime deadline,
                                            const Ask<Answer>& ask)
{
    std::vector<std::optional<Answer>> answers(names.size());
    std::vector<std::size_t> left(names.size());
    for (std::size_t i = 0; i < left.size(); ++i)
        left[i] = i;
    Call call(*this);
    do {
        std::map<Server*, std::vector<std::size_t>> groups;
        for (const std::size_t i : left)
            if (Server* const server = call.next(names[i]))
                groups[server].push_back(i);
        left.clear();
        for (const auto& [server, group] : groups) {
            // What came too late to be asked says nothing about the server.
            const bool is_late = std::chrono::steady_clock::now() >= deadline;
            std::vector<Answer> given = ask(server->store(), group, call.deadline_of(*server, deadline));
            const Error* worst = nullptr;
            for (std::size_t at = 0; at < group.size(); ++at) {
                const Error* const error = error_of(given[at]);
                if (is_lost(error) && !is_late)
                    left.push_back(group[at]);
                if (worst == nullptr || is_lost(error))
                    worst = error;
            }
            if (!is_late)
                settle(*server, worst);
            if (is_lost(worst))
                call.failed(*server);
            for (std::size_t at = 0; at < group.size(); ++at)
                answers[group[at]] = std::move(given[at]);
        }
    } while (!left.empty() && std::chrono::steady_clock::now() < deadline);
    std::vector<Answer> all;
    all.reserve(answers.size());
    for (std::optional<Answer>& answer : answers)
        all.push_back(*std::move(answer));
    return all;
}

template <class Answer>
Answer BalancedStore::ask_one(std::string_view name, SteadyTime deadline,
                              const std::function<Answer(RemoteStore& store, SteadyTime deadline)>& ask)
{
    return std::move(ask_many<Answer>({name}, deadline, [&](RemoteStore& store, Which, SteadyTime until) {
                         return std::vector{ask(store, until)};
                     }).front());
}

std::vector<Result<std::optional<Bytes>>> BalancedStore::get_many(std::span<const std::string> names,
                                                                  SteadyTime deadline)
{
    return ask_many<Result<std::optional<Bytes>>>(
        {names.begin(), names.end()}, deadline,
        [&](RemoteStore& store, Which which, SteadyTime until) { return store.get_many(chosen(names, which), until); });
}

std::vector<Result<bool>> BalancedStore::has_many(std::span<const std::string> names, SteadyTime deadline)
{
    return ask_many<Result<bool>>(
        {names.begin(), names.end()}, deadline,
        [&](RemoteStore& store, Which which, SteadyTime until) { return store.has_many(chosen(names, which), until); });
}

std::vector<Status> BalancedStore::put_many(std::span<const Object> objects, SteadyTime deadline)
{
    std::vector<std::string_view> names;
    names.reserve(objects.size());
    for (const Object& object : objects)
        names.push_back(object.name);
    return ask_many<Status>(names, deadline, [&](RemoteStore& store, Which which, SteadyTime until) {
        return store.put_many(chosen(objects, which), until);
    });
}

Result<bool> BalancedStore::remove(std::string_view name, SteadyTime deadline)
{
    return ask_one<Result<bool>>(name, deadline,
                                 [&](RemoteStore& store, SteadyTime until) { return store.remove(name, until); });
}

Status BalancedStore::list(const std::function<bool(std::string_view name, std::uint64_t bytes)>& visit,
                           SteadyTime deadline)
{
    Status listed;
    static_cast<void>(ask_one<Status>("list", deadline, [&](RemoteStore& store, SteadyTime until) {
        bool visited = false;
        listed = store.list(
            [&](std::string_view name, std::uint64_t bytes) {
                visited |= !name.empty();
                return visit(name, bytes);
            },
            until);
        // From another one the names would come a second time.
        return visited ? Status() : listed;
    }));
    return listed;
}

Result<bool> BalancedStore::put_if_absent(std::string_view name, ByteView bytes, std::chrono::milliseconds lifetime,
                                          SteadyTime deadline)
{
    bool again = false;
    return ask_one<Result<bool>>(name, deadline, [&](RemoteStore& store, SteadyTime until) {
        Result<bool> taken = store.put_if_absent(name, bytes, lifetime, until);
        if (std::exchange(again, true) && taken.ok() && !*taken)
            return store.renew(name, bytes, lifetime, until);
        return taken;
    });
}

Result<bool> BalancedStore::renew(std::string_view name, ByteView bytes, std::chrono::milliseconds lifetime,
                                  SteadyTime deadline)
{
    return ask_one<Result<bool>>(name, deadline, [&](RemoteStore& store, SteadyTime until) {
        return store.renew(name, bytes, lifetime, until);
    });
}

Result<bool> BalancedStore::remove_if(std::string_view name, ByteView bytes, SteadyTime deadline)
{
    return ask_one<Result<bool>>(
        name, deadline, [&](RemoteStore& store, SteadyTime until) { return store.remove_if(name, bytes, until); });
}

bool BalancedStore::is_partly_down()
{
    return are_partly_down(m_servers);
}

void BalancedStore::after_fork() noexcept
{
    for (const std::unique_ptr<Server>& server : m_servers)
        server->store().after_fork();
}

std::string BalancedStore::description()
{
    std::string all;
    for (const std::unique_ptr<Server>& server : m_servers) {
        const auto answer = server->store().get("probe", std::chrono::steady_clock::now() + k_longest_probe);
        settle(*server, error_of(answer));
        all += fmt::format("{}{}{}", all.empty() ? "" : "; ", server->store().description(),
                           failure_of(error_of(answer)) ? " (down)" : "");
    }
    return all;
}

}  // namespace hearth::remotes
