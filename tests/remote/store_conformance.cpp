#include "remote/store_conformance.hpp"

#include "support/sample_entries.hpp"

#include <map>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace hearth::test {

namespace {

using remotes::Object;
using remotes::SteadyTime;

Bytes some_bytes(std::uint64_t number, std::size_t size)
{
    return sample_bytes(numbered_key(number), size);
}

std::string name(std::uint64_t number)
{
    return numbered_key(number).hex();
}

}  // namespace

void StoreConformance::SetUp()
{
    m_server = GetParam().start();
    if (!m_server)
        GTEST_SKIP() << "No server of this kind is installed: scripts/install-deps test";
    Result<std::unique_ptr<remotes::RemoteStore>> opened = m_server->open(m_server->options());
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    m_store = *std::move(opened);
}

TEST_P(StoreConformance, what_is_put_comes_back_whole)
{
    for (const std::size_t size : {0U, 1U, 100U, 4096U, 16384U, 220'000U, 3'000'001U}) {
        const Status put = m_store->put(name(size), some_bytes(size, size), soon());
        ASSERT_TRUE(put.ok()) << size << ": " << put.error().message;
    }
    for (const std::size_t size : {0U, 1U, 100U, 4096U, 16384U, 220'000U, 3'000'001U}) {
        const Result<std::optional<Bytes>> got = m_store->get(name(size), soon());
        ASSERT_TRUE(got.ok()) << size << ": " << got.error().message;
        ASSERT_TRUE(got->has_value()) << size;
        EXPECT_EQ(**got, some_bytes(size, size)) << size;
    }
    EXPECT_FALSE(m_store->description().empty());
}

TEST_P(StoreConformance, what_is_not_there_is_none_and_no_error)
{
    const Result<std::optional<Bytes>> got = m_store->get(name(1), soon());
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_FALSE(got->has_value());
    const Result<bool> removed = m_store->remove(name(1), soon());
    ASSERT_TRUE(removed.ok()) << removed.error().message;
    EXPECT_FALSE(*removed);
}

TEST_P(StoreConformance, a_new_value_replaces_the_old_one_and_remove_takes_it_away)
{
    ASSERT_TRUE(m_store->put(name(1), some_bytes(1, 500), soon()).ok());
    ASSERT_TRUE(m_store->put(name(1), some_bytes(2, 90), soon()).ok());
    EXPECT_EQ(m_store->get(name(1), soon()).value().value(), some_bytes(2, 90));
    const Result<bool> removed = m_store->remove(name(1), soon());
    ASSERT_TRUE(removed.ok()) << removed.error().message;
    EXPECT_TRUE(*removed);
    EXPECT_FALSE(m_store->get(name(1), soon()).value().has_value());
}

TEST_P(StoreConformance, many_are_answered_in_their_order)
{
    std::vector<Bytes> bytes;
    for (std::uint64_t i = 0; i < 100; ++i)
        bytes.push_back(some_bytes(i, i * 137));
    std::vector<Object> objects;
    for (std::uint64_t i = 0; i < 100; i += 2)
        objects.push_back({name(i), bytes[i]});
    for (const Status& status : m_store->put_many(objects, soon()))
        ASSERT_TRUE(status.ok()) << status.error().message;
    std::vector<std::string> names;
    for (std::uint64_t i = 0; i < 100; ++i)
        names.push_back(name((i * 37) % 100));
    const auto got = m_store->get_many(names, soon());
    const auto has = m_store->has_many(names, soon());
    ASSERT_EQ(got.size(), 100U);
    ASSERT_EQ(has.size(), 100U);
    for (std::uint64_t i = 0; i < 100; ++i) {
        const std::uint64_t number = (i * 37) % 100;
        ASSERT_TRUE(got[i].ok()) << got[i].error().message;
        ASSERT_TRUE(has[i].ok()) << has[i].error().message;
        EXPECT_EQ(*has[i], number % 2 == 0) << number;
        ASSERT_EQ(got[i]->has_value(), number % 2 == 0) << number;
        if (number % 2 == 0) {
            EXPECT_EQ(**got[i], bytes[number]) << number;
        }
    }
    EXPECT_TRUE(m_store->get_many({}, soon()).empty());
    EXPECT_TRUE(m_store->has_many({}, soon()).empty());
    EXPECT_TRUE(m_store->put_many({}, soon()).empty());
}

TEST_P(StoreConformance, lists_what_it_holds)
{
    const auto visit_none = [](std::string_view, std::uint64_t) { return true; };
    if (!GetParam().lists) {
        const Status listed = m_store->list(visit_none, soon());
        ASSERT_FALSE(listed.ok());
        EXPECT_EQ(listed.error().code, Code::other_version);
        return;
    }
    std::set<std::string> expected;
    for (std::uint64_t i = 0; i < 1500; i += 100) {
        ASSERT_TRUE(m_store->put(name(i), some_bytes(i, 10), soon()).ok());
        expected.insert(name(i));
    }
    std::set<std::string> seen;
    const Status listed = m_store->list(
        [&](std::string_view one, std::uint64_t) {
            seen.emplace(one);
            return true;
        },
        soon());
    ASSERT_TRUE(listed.ok()) << listed.error().message;
    EXPECT_EQ(seen, expected);
    int visits = 0;
    ASSERT_TRUE(m_store->list([&](std::string_view, std::uint64_t) { return ++visits < 3; }, soon()).ok());
    EXPECT_EQ(visits, 3);
}

TEST_P(StoreConformance, a_lease_is_one_holders_until_it_lets_go)
{
    const Bytes mine = Bytes::copy_of("token of mine");
    const Bytes theirs = Bytes::copy_of("token of theirs");
    const std::chrono::milliseconds long_time(60'000);
    const Result<bool> first = m_store->put_if_absent("k.lease", mine, long_time, soon());
    if (!GetParam().leases) {
        ASSERT_FALSE(first.ok());
        EXPECT_EQ(first.error().code, Code::other_version) << first.error().message;
        return;
    }
    ASSERT_TRUE(first.ok()) << first.error().message;
    EXPECT_TRUE(*first);
    EXPECT_FALSE(m_store->put_if_absent("k.lease", theirs, long_time, soon()).value());
    EXPECT_EQ(m_store->get("k.lease", soon()).value().value(), mine);
    EXPECT_TRUE(m_store->renew("k.lease", mine, long_time, soon()).value());
    EXPECT_FALSE(m_store->renew("k.lease", theirs, long_time, soon()).value());
    EXPECT_FALSE(m_store->remove_if("k.lease", theirs, soon()).value()) << "not theirs to end";
    EXPECT_TRUE(m_store->remove_if("k.lease", mine, soon()).value());
    EXPECT_FALSE(m_store->remove_if("k.lease", mine, soon()).value());
    EXPECT_TRUE(m_store->put_if_absent("k.lease", theirs, long_time, soon()).value());
}

TEST_P(StoreConformance, a_lease_whose_holder_is_gone_goes_by_itself)
{
    if (!GetParam().leases || !GetParam().forgets)
        GTEST_SKIP() << "This server does not forget by itself.";
    const Bytes mine = Bytes::copy_of("token of mine");
    ASSERT_TRUE(m_store->put_if_absent("k.lease", mine, std::chrono::milliseconds(50), soon()).value());
    const Bytes theirs = Bytes::copy_of("token of theirs");
    bool taken = false;
    while (!taken && std::chrono::steady_clock::now() < soon())
        taken = m_store->put_if_absent("k.lease", theirs, std::chrono::milliseconds(60'000), soon()).value();
    EXPECT_TRUE(taken);
}

TEST_P(StoreConformance, an_object_beyond_the_limit_is_refused)
{
    ASSERT_TRUE(m_store->put(name(1), some_bytes(1, 200'000), soon()).ok());
    remotes::StoreOptions options = m_server->options();
    options.max_object_bytes = 100'000;
    const auto small = m_server->open(options).value();
    const Result<std::optional<Bytes>> got = small->get(name(1), soon());
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, Code::too_large) << got.error().message;
    const Status put = small->put(name(2), some_bytes(2, 200'000), soon());
    ASSERT_FALSE(put.ok());
    EXPECT_EQ(put.error().code, Code::too_large) << put.error().message;
    ASSERT_TRUE(small->put(name(3), some_bytes(3, 1000), soon()).ok()) << "it goes on";
    EXPECT_EQ(small->get(name(3), soon()).value().value(), some_bytes(3, 1000));
}

TEST_P(StoreConformance, a_deadline_that_has_passed_is_a_timeout)
{
    const Result<std::optional<Bytes>> got =
        m_store->get(name(1), std::chrono::steady_clock::now() - std::chrono::milliseconds(1));
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, Code::timeout) << got.error().message;
    EXPECT_TRUE(m_store->get(name(1), soon()).ok()) << "and the next goes on";
}

TEST_P(StoreConformance, threads_get_what_they_asked_for)
{
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 6; ++t)
        threads.emplace_back([&, t] {
            for (std::uint64_t i = 0; i < 20; ++i) {
                const std::uint64_t number = t * 1000 + i;
                const Bytes bytes = some_bytes(number, 100 + i * 777);
                const Status put = m_store->put(name(number), bytes, soon());
                ASSERT_TRUE(put.ok()) << put.error().message;
                const Result<std::optional<Bytes>> got = m_store->get(name(number), soon());
                ASSERT_TRUE(got.ok()) << got.error().message;
                ASSERT_TRUE(got->has_value());
                EXPECT_EQ(**got, bytes);
            }
        });
    for (std::thread& thread : threads)
        thread.join();
}

TEST_P(StoreConformance, a_forked_child_has_connections_of_its_own)
{
    ASSERT_TRUE(m_store->put(name(1), some_bytes(1, 5000), soon()).ok());
    const pid_t child = ::fork();
    if (child == 0) {
        m_store->after_fork();
        bool right = true;
        for (int i = 0; i < 20; ++i) {
            const auto got = m_store->get(name(1), soon());
            right = right && got.ok() && got->has_value() && **got == some_bytes(1, 5000);
        }
        ::_exit(right ? 0 : 1);
    }
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(m_store->get(name(1), soon()).value().value(), some_bytes(1, 5000));
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_EQ(m_store->get(name(1), soon()).value().value(), some_bytes(1, 5000));
}

}  // namespace hearth::test
