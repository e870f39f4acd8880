// Servers that a fleet shares, on loopback: hits beside a bare request, many at once beside one by one, what a server
// costs that is dead or never answers, and what a lease saves. Real servers, started here; what is not installed is
// left out, and said.

#include "benches.hpp"
#include "format/entry.hpp"
#include "hearth/hearth.hpp"
#include "sample_entries.hpp"
#include "scratch.hpp"
#include "support/nginx_server.hpp"
#include "support/redis_server.hpp"
#include "support/s3_server.hpp"
#include "timing.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <curl/curl.h>
#include <fmt/format.h>
#include <memory>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <random>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace hearth::bench {

namespace {

constexpr int k_times = 501;
constexpr int k_nodes = 8;
constexpr int k_kernels = 50;
constexpr double k_compile_seconds = 0.03;
constexpr int k_hanging_seconds = 20;

struct Size {
    const char* name;
    std::size_t bytes;
};
constexpr Size k_sizes[] = {{"4k", 4 << 10}, {"220k", 220 << 10}};

// Bytes that do not compress: what is fetched is as large as what is used.
Artifact random_artifact(std::size_t size, std::uint64_t seed)
{
    std::mt19937_64 random(seed);
    return Artifact(Bytes::make(size, [&](std::span<std::byte> out) {
        for (std::byte& byte : out)
            byte = static_cast<std::byte>(random());
    }));
}

Cache open_remote(const std::string& url)
{
    CacheOptions options;
    options.tiers = {remote({.url = url, .timeout = std::chrono::seconds(5)})};
    options.maintenance = Maintenance::by_hand;
    return Cache::open(options).value();
}

void fill(Cache& cache, const Size& size, std::uint64_t count)
{
    for (std::uint64_t i = 0; i < count; ++i)
        (void)cache.insert(Key::of(size.name, i), random_artifact(size.bytes, i));
    cache.flush();
}

// The least that a GET can cost: a connected socket, a write, and reads into one buffer.
class BareRedis {
public:
    explicit BareRedis(std::uint16_t port)
        : m_socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), m_buffer(1U << 20U)
    {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const int on = 1;
        ::setsockopt(m_socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (::connect(m_socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
            fmt::print(stderr, "hearth_bench: redis cannot be reached\n");
    }
    ~BareRedis() { ::close(m_socket); }
    BareRedis(const BareRedis&) = delete;
    BareRedis& operator=(const BareRedis&) = delete;

    const char* get(const std::string& key)
    {
        const std::string command = fmt::format("*2\r\n$3\r\nGET\r\n${}\r\n{}\r\n", key.size(), key);
        (void)::send(m_socket, command.data(), command.size(), MSG_NOSIGNAL);
        std::size_t got = 0;
        std::size_t whole = SIZE_MAX;
        while (got < whole) {
            const ssize_t more = ::recv(m_socket, m_buffer.data() + got, m_buffer.size() - got, 0);
            if (more <= 0)
                return nullptr;
            got += static_cast<std::size_t>(more);
            const std::string_view text(m_buffer.data(), got);
            if (const std::size_t line = text.find("\r\n"); whole == SIZE_MAX && line != std::string_view::npos) {
                std::size_t length = 0;
                std::from_chars(text.data() + 1, text.data() + line, length);
                whole = line + 2 + length + 2;
            }
        }
        return m_buffer.data();
    }

private:
    int m_socket;
    std::vector<char> m_buffer;
};

void redis_hits(Report& report, std::uint16_t port)
{
    Cache cache = open_remote(fmt::format("redis://127.0.0.1:{}", port));
    BareRedis bare(port);
    for (const Size& size : k_sizes) {
        fill(cache, size, 16);
        std::uint64_t turn = 0;
        const auto ours = [&] {
            const Lookup found = cache.find(Key::of(size.name, turn % 16));
            keep(found->bytes().data());
        };
        const auto theirs = [&] { keep(bare.get("hearth:" + Key::of(size.name, turn++ % 16).hex())); };
        side_by_side(20, ours, theirs);
        const Pair times = side_by_side(k_times, ours, theirs);
        report.add_beside(fmt::format("remote.redis_hit.{}", size.name), times.first * 1e6, "us",
                          "bare GET of the same entry", times.second * 1e6);
    }
}

void redis_many(Report& report, std::uint16_t port, const std::string& folder)
{
    constexpr std::uint64_t k_many = 1000;
    const std::string url = fmt::format("redis://127.0.0.1:{}/1", port);
    Cache writer = open_remote(url);
    fill(writer, k_sizes[0], k_many);
    const auto open = [&](const std::string& name) {
        CacheOptions options;
        options.tiers = {disk(folder + "/" + name), remote({.url = url, .timeout = std::chrono::seconds(5)})};
        options.maintenance = Maintenance::by_hand;
        return Cache::open(options).value();
    };
    Cache batched = open("batched");
    Cache single = open("single");
    const std::uint64_t start = now_ns();
    const bool all = admin::pull(batched, "").value().entries == k_many;
    const std::uint64_t middle = now_ns();
    for (std::uint64_t i = 0; i < k_many; ++i)
        keep(single.find(Key::of(k_sizes[0].name, i)).hit());
    report.add_beside("remote.pull_1000", static_cast<double>(middle - start) * 1e-6, "ms",
                      all ? "the same one by one" : "one by one (and not all came)",
                      static_cast<double>(now_ns() - middle) * 1e-6);
}

// An easy handle that is used again and again, as any client would.
class BareCurl {
public:
    BareCurl() : m_handle(curl_easy_init()) {}
    ~BareCurl()
    {
        curl_easy_cleanup(m_handle);
        curl_slist_free_all(m_headers);
    }
    BareCurl(const BareCurl&) = delete;
    BareCurl& operator=(const BareCurl&) = delete;

    void sign(const char* user, const char* password)
    {
        m_headers = curl_slist_append(
            nullptr, "x-amz-content-sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        curl_easy_setopt(m_handle, CURLOPT_AWS_SIGV4, "aws:amz:us-east-1:s3");
        curl_easy_setopt(m_handle, CURLOPT_USERNAME, user);
        curl_easy_setopt(m_handle, CURLOPT_PASSWORD, password);
        curl_easy_setopt(m_handle, CURLOPT_HTTPHEADER, m_headers);
    }
    // A bucket.
    void make(const std::string& url)
    {
        curl_easy_setopt(m_handle, CURLOPT_CUSTOMREQUEST, "PUT");
        get(url);
        curl_easy_setopt(m_handle, CURLOPT_CUSTOMREQUEST, nullptr);
    }
    std::size_t get(const std::string& url)
    {
        m_body.clear();
        curl_easy_setopt(m_handle, CURLOPT_URL, url.c_str());
        curl_easy_setopt(m_handle, CURLOPT_WRITEDATA, &m_body);
        curl_easy_setopt(
            m_handle, CURLOPT_WRITEFUNCTION, +[](char* data, std::size_t size, std::size_t count, void* to) {
                static_cast<std::string*>(to)->append(data, size * count);
                return size * count;
            });
        curl_easy_perform(m_handle);
        return m_body.size();
    }

private:
    CURL* m_handle;
    curl_slist* m_headers = nullptr;
    std::string m_body;
};

void http_hits(Report& report, const std::string& kind, const std::string& url, const std::string& base, BareCurl& bare)
{
    Cache cache = open_remote(url);
    for (const Size& size : k_sizes) {
        fill(cache, size, 8);
        std::uint64_t turn = 0;
        bool right = true;
        const auto ours = [&] { right &= cache.find(Key::of(size.name, turn % 8)).hit(); };
        const auto theirs = [&] { right &= bare.get(base + Key::of(size.name, turn++ % 8).hex()) > size.bytes; };
        side_by_side(5, ours, theirs);
        const Pair times = side_by_side(kind == "s3" ? 41 : k_times, ours, theirs);
        report.add_beside(fmt::format("remote.{}_hit.{}", kind, size.name), times.first * 1e6, "us",
                          right ? "bare curl GET of the same entry" : "bare curl GET (and some failed)",
                          times.second * 1e6);
    }
}

// A node whose server is at this port; 0: it has none.
Cache open_node(const std::string& folder, std::uint16_t port)
{
    CacheOptions options;
    options.tiers = {memory(16_MiB), disk(folder)};
    if (port != 0)
        options.tiers.push_back(
            remote({.url = fmt::format("redis://127.0.0.1:{}", port), .state_directory = folder + "/remotes"}));
    options.maintenance = Maintenance::by_hand;
    return Cache::open(options).value();
}

// What a lookup costs that finds nothing: with a server that is dead beside no server at all.
void dead_remote(Report& report, const std::string& folder)
{
    Cache with = open_node(folder + "/with", test::free_port());
    Cache without = open_node(folder + "/without", 0);
    for (int i = 0; i < 3; ++i)
        keep(with.find(Key::of("first", i)).hit());
    std::uint64_t number = 0;
    const auto many = [&](Cache& cache) {
        for (int i = 0; i < 100; ++i)
            keep(cache.find(Key::of("absent", number++)).hit());
    };
    const Pair times = side_by_side(
        401, [&] { many(with); }, [&] { many(without); });
    report.add_beside("remote.dead.lookup", times.first * 1e4, "us", "the same without a remote", times.second * 1e4);
}

// A server that takes connections and never answers: what a program pays that looks something up every millisecond.
void hanging_remote(Report& report, const std::string& folder)
{
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(listener, reinterpret_cast<const sockaddr*>(&address), size);
    ::listen(listener, 64);  // the kernel takes the connections
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
    {
        Cache cache = open_node(folder, ntohs(address.sin_port));
        double sum = 0;
        double worst = 0;
        const std::uint64_t end = now_ns() + static_cast<std::uint64_t>(k_hanging_seconds) * 1'000'000'000;
        for (std::uint64_t i = 0; now_ns() < end; ++i) {
            const double took = best_of(1, [&] { keep(cache.find(Key::of("absent", i)).hit()); });
            sum += took;
            worst = std::max(worst, took);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        report.add("remote.hanging.worst_lookup", worst * 1e3, "ms");
        report.add(fmt::format("remote.hanging.sum_of_{}_s", k_hanging_seconds), sum * 1e3, "ms");
    }
    ::close(listener);
}

void nodes(Report& report, std::uint16_t port, const std::string& folder)
{
    double seconds[2] = {0, 0};
    int compiles[2] = {0, 0};
    const std::string rounds = std::to_string(rounds_in(k_compile_seconds));
    for (const int lease : {1, 0}) {
        const ChildrenRun run =
            run_children(k_nodes, {"remote", fmt::format("redis://127.0.0.1:{}/{}", port, 2 + lease),
                                   folder + fmt::format("/nodes{}", lease), std::to_string(lease), rounds});
        seconds[lease] = run.seconds;
        for (const int status : run.statuses)
            compiles[lease] += status;
    }
    report.add_beside("remote.8_nodes_50_kernels", seconds[1] * 1e3, "ms", "the same without the lease",
                      seconds[0] * 1e3);
    report.add_beside("remote.8_nodes_50_kernels.compiles", compiles[1], "compiles", "without the lease", compiles[0]);
}

}  // namespace

// A node: its own directory, the same kernels, and how many it had to compile.
int remote_child(const std::vector<std::string>& arguments)
{
    const std::string folder = fmt::format("{}/{}", arguments.at(1), ::getpid());
    CacheOptions options;
    options.tiers = {memory(16_MiB), disk(folder),
                     remote({.url = arguments.at(0),
                             .connect_timeout = std::chrono::seconds(5),
                             .timeout = std::chrono::seconds(5),
                             .lease = arguments.at(2) == "1" ? FleetLease::on : FleetLease::off,
                             .state_directory = folder + "/remotes"})};
    options.maintenance = Maintenance::by_hand;
    Cache cache = Cache::open(options).value();
    int compiles = 0;
    const std::uint64_t rounds = std::strtoull(arguments.at(3).c_str(), nullptr, 10);
    for (std::uint64_t i = 0; i < k_kernels; ++i)
        (void)cache.get_or_compile(Key::of("node kernel", i), [&] {
            ++compiles;
            do_work(rounds);
            return assembly_artifact(16 << 10, i);
        });
    return compiles;
}

void bench_remote(Report& report)
{
    const Scratch scratch;
    dead_remote(report, scratch.path("dead"));
    hanging_remote(report, scratch.path("hanging"));
    if (test::has_redis()) {
        const test::RedisServer server;
        redis_hits(report, server.port());
        redis_many(report, server.port(), scratch.path("many"));
        nodes(report, server.port(), scratch.path("nodes"));
    } else {
        report.note("remote.redis*: left out: redis-server is not installed");
    }
    if (const std::unique_ptr<test::NginxServer> nginx = test::NginxServer::start()) {
        BareCurl bare;
        const std::string base = fmt::format("http://{}/cache/", nginx->address());
        http_hits(report, "http", base.substr(0, base.size() - 1), base, bare);
    } else {
        report.note("remote.http*: left out: nginx is not installed");
    }
    if (const std::unique_ptr<test::S3Server> s3 = test::S3Server::start()) {
        ::setenv("AWS_ACCESS_KEY_ID", test::S3Server::k_access_key, 1);
        ::setenv("AWS_SECRET_ACCESS_KEY", test::S3Server::k_secret_key, 1);
        BareCurl bare;
        bare.sign(test::S3Server::k_access_key, test::S3Server::k_secret_key);
        bare.make(s3->endpoint() + "/bench");
        http_hits(report, "s3", fmt::format("s3://bench/kernels?endpoint={}&region=us-east-1", s3->endpoint()),
                  fmt::format("{}/bench/kernels/", s3->endpoint()), bare);
    } else {
        report.note("remote.s3*: left out: Swift is not installed");
    }
}

}  // namespace hearth::bench
