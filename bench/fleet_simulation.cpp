// A fleet that starts at once, simulated: nodes that want the same kernels, servers that answer one request after the
// other, and what a lease in the store, the order of the kernels and an outage change. Virtual time; no network.
//
//   hearth_fleet_simulation [--nodes N] [--kernels N] [--shards N] [--window S] [--seed N]
//
// What a node does for a kernel is what the engine does: ask the store; on a miss take the lease and look once more;
// compile, send, let go; or wait for the holder, asking again after 5 ms, then twice as long, 500 ms at most, for the
// lease every fourth time; after a minute compile all the same. An answer that takes longer than 500 ms is none: the
// node compiles, and leaves the server alone for a second, then twice as long, half a minute at most (breaker.hpp;
// there three wrong answers in a row do the same, and no server gives any here). What it compiles meanwhile it sends
// later.
//
// A request is made at the moment at which it is sent, so that servers answer in the order of arrival, and what a
// server says is what those before have left.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <queue>
#include <random>
#include <string>
#include <vector>

namespace {

using Ns = std::int64_t;
constexpr Ns k_us = 1000;
constexpr Ns k_ms = 1000 * k_us;
constexpr Ns k_s = 1000 * k_ms;

// Measured with `make bench` (docs/benchmarks.md): what one request costs a server, and a compile a node.
struct Costs {
    Ns request = 8 * k_us;      // of a redis-server's one thread, without the bytes
    double bytes_per_ns = 3.5;  // what it sends
    Ns network = 100 * k_us;    // there and back
    Ns first_pause = 5 * k_ms;
    Ns longest_pause = 500 * k_ms;
    Ns lease_wait = 60 * k_s;
    Ns lease_time = 15 * k_s;  // no compile here takes as long
    Ns deadline = 500 * k_ms;
    Ns breaker_first = 1 * k_s;
    Ns breaker_longest = 30 * k_s;
};

struct Kernel {
    Ns compile = 0;
    std::uint32_t bytes = 0;
};

enum class Order : std::uint8_t { same, shuffled };

struct Scenario {
    const char* name;
    bool lease;
    Order order;
    Ns outage_from = 0;
    Ns outage_until = 0;
};

struct Outcome {
    std::uint64_t compiles = 0;
    std::uint64_t requests = 0;
    std::uint64_t deadlines = 0;  // that passed
    Ns median_ready = 0;
    Ns last_ready = 0;
    double compile_hours = 0;
    double busiest_shard = 0;  // share of the time it worked
};

class Simulation {
public:
    Simulation(std::size_t nodes, std::vector<Kernel> kernels, std::size_t shards, Ns window, const Scenario& scenario,
               std::uint64_t seed)
        : m_kernels(std::move(kernels)), m_scenario(scenario), m_stored(m_kernels.size()),
          m_lease_until(m_kernels.size()), m_free_at(shards), m_worked(shards), m_nodes(nodes)
    {
        std::mt19937_64 random(seed);
        for (std::size_t n = 0; n < nodes; ++n) {
            Node& node = m_nodes[n];
            node.start = static_cast<Ns>(random() % static_cast<std::uint64_t>(window));
            // A step that visits every kernel: an order of its own, without keeping one.
            node.first = m_scenario.order == Order::same ? 0 : random() % m_kernels.size();
            node.step = 1;
            if (m_scenario.order == Order::shuffled)
                do
                    node.step = 1 + random() % (m_kernels.size() - 1);
                while (std::gcd(node.step, m_kernels.size()) != 1);
            wake(node.start, n);
        }
    }

    Outcome run()
    {
        while (!m_events.empty()) {
            const Event event = m_events.top();
            m_events.pop();
            go_on(event.at, event.node);
        }
        std::vector<Ns> ready;
        for (const Node& node : m_nodes)
            ready.push_back(node.ready - node.start);
        std::sort(ready.begin(), ready.end());
        m_outcome.median_ready = ready[ready.size() / 2];
        m_outcome.last_ready = ready.back();
        m_outcome.busiest_shard =
            static_cast<double>(*std::max_element(m_worked.begin(), m_worked.end())) / static_cast<double>(m_end);
        return m_outcome;
    }

private:
    // What the node did last: its next step follows from the answer.
    enum class Did : std::uint8_t {
        nothing,
        looked,
        asked_for_lease,
        looked_with_lease,
        slept,
        looked_again,
        compiled
    };
    enum class Answer : std::uint8_t { no, yes, none };
    enum class Ask : std::uint8_t { entry, lease };
    struct Node {
        Ns start = 0;
        Ns ready = 0;
        std::size_t first = 0;
        std::size_t step = 1;
        std::size_t done = 0;
        Did did = Did::nothing;
        Answer answer = Answer::no;
        Ns pause = 0;  // before it asks again; 0: it does not wait for anybody
        Ns waits_since = 0;
        std::uint32_t polls = 0;
        Ns down_until = 0;
        Ns breaker_pause = 0;
        bool holds = false;
        std::vector<std::size_t> unsent{};
    };
    struct Event {
        Ns at;
        std::size_t node;
        friend bool operator>(const Event& a, const Event& b) { return a.at != b.at ? a.at > b.at : a.node > b.node; }
    };

    void wake(Ns at, std::size_t node) { m_events.push({at, node}); }

    bool is_down(Ns now) const { return now >= m_scenario.outage_from && now < m_scenario.outage_until; }

    // When the answer is back.
    Ns serve(Ns now, std::size_t kernel, std::uint64_t bytes)
    {
        ++m_outcome.requests;
        const std::size_t shard = kernel % m_free_at.size();
        const Ns work = m_costs.request + static_cast<Ns>(static_cast<double>(bytes) / m_costs.bytes_per_ns);
        m_free_at[shard] = std::max(m_free_at[shard], now + m_costs.network / 2) + work;
        m_worked[shard] += work;
        return m_free_at[shard] + m_costs.network / 2;
    }

    // Asks, and goes on as `did` when the answer is there or the deadline has passed; at once where the server rests.
    void ask(Ns now, std::size_t n, std::size_t kernel, Ask what, Did did)
    {
        Node& node = m_nodes[n];
        node.did = did;
        node.answer = Answer::none;
        if (now < node.down_until)
            return wake(now, n);
        Ns answered = now + m_costs.deadline + 1;
        Answer answer = Answer::none;
        if (!is_down(now) && what == Ask::entry) {
            answer = m_stored[kernel] ? Answer::yes : Answer::no;
            answered = serve(now, kernel, m_stored[kernel] ? m_kernels[kernel].bytes : 0);
        } else if (!is_down(now)) {
            answer = m_lease_until[kernel] > now ? Answer::no : Answer::yes;
            answered = serve(now, kernel, 0);
            if (answer == Answer::yes)
                m_lease_until[kernel] = now + m_costs.lease_time;
        }
        if (answered - now <= m_costs.deadline) {
            node.answer = answer;
            node.breaker_pause = 0;
            return wake(answered, n);
        }
        ++m_outcome.deadlines;
        const Ns gave_up = now + m_costs.deadline;
        node.breaker_pause =
            node.breaker_pause == 0 ? m_costs.breaker_first : std::min(2 * node.breaker_pause, m_costs.breaker_longest);
        const auto jitter = static_cast<Ns>(m_random() % static_cast<std::uint64_t>(node.breaker_pause / 5));
        node.down_until = gave_up + node.breaker_pause - jitter;
        wake(gave_up, n);
    }

    // In the background: nobody waits for it.
    void send(Ns now, Node& node)
    {
        if (now < node.down_until || is_down(now))
            return;
        for (const std::size_t kernel : node.unsent) {
            serve(now, kernel, m_kernels[kernel].bytes);
            m_stored[kernel] = true;
        }
        node.unsent.clear();
    }

    // The lease ends behind what was compiled under it; one that cannot be ended expires.
    void let_go(Ns now, Node& node, std::size_t kernel)
    {
        if (node.holds && now >= node.down_until && !is_down(now)) {
            serve(now, kernel, 0);
            m_lease_until[kernel] = 0;
        }
        node.holds = false;
    }

    void compile(Ns now, std::size_t n, std::size_t kernel)
    {
        ++m_outcome.compiles;
        m_outcome.compile_hours += static_cast<double>(m_kernels[kernel].compile) / static_cast<double>(3600 * k_s);
        m_nodes[n].did = Did::compiled;
        wake(now + m_kernels[kernel].compile, n);
    }

    void next(Ns now, std::size_t n)
    {
        Node& node = m_nodes[n];
        node.did = Did::nothing;
        node.pause = 0;
        m_end = std::max(m_end, now);
        if (++node.done == m_kernels.size())
            node.ready = now;
        else
            wake(now, n);
    }

    void go_on(Ns now, std::size_t n)
    {
        Node& node = m_nodes[n];
        const std::size_t kernel = (node.first + node.done * node.step) % m_kernels.size();
        if (!node.unsent.empty())
            send(now, node);
        switch (node.did) {
        case Did::nothing:
            return ask(now, n, kernel, Ask::entry, Did::looked);
        case Did::looked:
            if (node.answer == Answer::yes)
                return next(now, n);
            if (node.answer == Answer::none || !m_scenario.lease)
                return compile(now, n, kernel);
            return ask(now, n, kernel, Ask::lease, Did::asked_for_lease);
        case Did::asked_for_lease:
            if (node.answer == Answer::no)
                return wait(now, n);
            node.holds = node.answer == Answer::yes;
            return node.holds ? ask(now, n, kernel, Ask::entry, Did::looked_with_lease) : compile(now, n, kernel);
        case Did::looked_with_lease:
            if (node.answer != Answer::yes)
                return compile(now, n, kernel);
            let_go(now, node, kernel);
            return next(now, n);
        case Did::slept:
            return ask(now, n, kernel, Ask::entry, Did::looked_again);
        case Did::looked_again:
            if (node.answer == Answer::yes)
                return next(now, n);
            if (now - node.waits_since >= m_costs.lease_wait)
                return compile(now, n, kernel);
            // Its holder may be dead.
            return ++node.polls % 4 == 0 ? ask(now, n, kernel, Ask::lease, Did::asked_for_lease) : wait(now, n);
        case Did::compiled:
            node.unsent.push_back(kernel);
            send(now, node);
            let_go(now, node, kernel);
            return next(now, n);
        }
    }

    // Not all at the same moment: a quarter more or less.
    void wait(Ns now, std::size_t n)
    {
        Node& node = m_nodes[n];
        if (node.pause == 0) {
            node.waits_since = now;
            node.polls = 0;
        }
        node.did = Did::slept;
        node.pause = node.pause == 0 ? m_costs.first_pause : std::min(2 * node.pause, m_costs.longest_pause);
        const auto spread = static_cast<std::uint64_t>(node.pause / 2);
        wake(now + node.pause * 3 / 4 + static_cast<Ns>(m_random() % spread), n);
    }

    const Costs m_costs;
    const std::vector<Kernel> m_kernels;
    const Scenario m_scenario;
    std::vector<bool> m_stored;
    std::vector<Ns> m_lease_until;
    std::vector<Ns> m_free_at;  // each shard
    std::vector<Ns> m_worked;
    std::vector<Node> m_nodes;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> m_events;
    std::mt19937_64 m_random{7};
    Outcome m_outcome;
    Ns m_end = 1;
};

// Small kernels are many, kernels with CUB inside are few: 40 ms to 2 s, 4 to 220 KB.
std::vector<Kernel> some_kernels(std::size_t count, std::uint64_t seed)
{
    std::mt19937_64 random(seed);
    std::lognormal_distribution<double> compile(std::log(0.08), 1.0);
    std::lognormal_distribution<double> size(std::log(12'000.0), 1.0);
    std::vector<Kernel> kernels(count);
    for (Kernel& kernel : kernels) {
        kernel.compile = static_cast<Ns>(std::clamp(compile(random), 0.03, 3.0) * static_cast<double>(k_s));
        kernel.bytes = static_cast<std::uint32_t>(std::clamp(size(random), 4e3, 220e3));
    }
    return kernels;
}

std::uint64_t argument(int argc, char** argv, const char* name, std::uint64_t otherwise)
{
    for (int i = 1; i + 1 < argc; ++i)
        if (std::strcmp(argv[i], name) == 0)
            return std::strtoull(argv[i + 1], nullptr, 10);
    return otherwise;
}

double in_seconds(Ns time)
{
    return static_cast<double>(time) / static_cast<double>(k_s);
}

}  // namespace

int main(int argc, char** argv)
{
    const std::size_t nodes = std::max<std::uint64_t>(argument(argc, argv, "--nodes", 10'000), 1);
    const std::size_t count = std::max<std::uint64_t>(argument(argc, argv, "--kernels", 2'000), 2);
    const std::size_t shards = std::max<std::uint64_t>(argument(argc, argv, "--shards", 6), 1);
    const std::uint64_t seed = argument(argc, argv, "--seed", 1);
    const Ns window = static_cast<Ns>(std::max<std::uint64_t>(argument(argc, argv, "--window", 10), 1)) * k_s;
    const std::vector<Kernel> kernels = some_kernels(count, seed);
    double alone = 0;
    double bytes = 0;
    for (const Kernel& kernel : kernels) {
        alone += in_seconds(kernel.compile);
        bytes += kernel.bytes;
    }
    std::printf("%zu nodes start within %.0f s; each wants the same %zu kernels (%.0f s of compiling, %.1f MB); %zu "
                "shards\n",
                nodes, in_seconds(window), count, alone, bytes * 1e-6, shards);
    std::printf(
        "each shard has up to %zu clients: a lookup's and a writer's connection of every node (redis takes 10000, "
        "unless maxclients says more)\n\n",
        2 * nodes);
    std::printf("%-40s %9s %8s %9s %8s %8s %8s %9s %8s\n", "SCENARIO", "COMPILES", "A KERNEL", "COMPILE h", "MEDIAN s",
                "LAST s", "REQUESTS", "DEADLINES", "BUSIEST");
    const Scenario scenarios[] = {
        {"no lease, all in the same order", false, Order::same},
        {"lease, all in the same order", true, Order::same},
        {"no lease, each in an order of its own", false, Order::shuffled},
        {"lease, each in an order of its own", true, Order::shuffled},
        {"the same, servers down from 5 s to 35 s", true, Order::shuffled, 5 * k_s, 35 * k_s},
    };
    std::printf("%-40s %9zu %8.2f %9.1f %8.1f %8.1f %8d %9d %8s\n", "no cache at all", nodes * count,
                static_cast<double>(nodes), alone * static_cast<double>(nodes) / 3600, alone, alone, 0, 0, "-");
    for (const Scenario& scenario : scenarios) {
        const Outcome outcome = Simulation(nodes, kernels, shards, window, scenario, seed).run();
        std::printf("%-40s %9llu %8.2f %9.1f %8.1f %8.1f %7.1fM %9llu %7.0f%%\n", scenario.name,
                    static_cast<unsigned long long>(outcome.compiles),
                    static_cast<double>(outcome.compiles) / static_cast<double>(count), outcome.compile_hours,
                    in_seconds(outcome.median_ready), in_seconds(outcome.last_ready),
                    static_cast<double>(outcome.requests) * 1e-6, static_cast<unsigned long long>(outcome.deadlines),
                    outcome.busiest_shard * 100);
    }
    return 0;
}
