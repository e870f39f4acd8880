#include "remote/store_conformance.hpp"

#include "support/eventually.hpp"
#include "support/forks.hpp"
#include "support/in_threads.hpp"
#include "support/remote_stores.hpp"

#include <array>
#include <set>
#include <unistd.h>

namespace hearth::test {

using remotes::Object;

void StoreConformance::SetUp()
{
    m_server = GetParam().start();
    if (!m_server)
        GTEST_SKIP() << "No server of this kind is installed: scripts/install-deps test";
    Result<std::unique_ptr<remotes::RemoteStore>> opened = m_server->open(options_for(m_server->url));
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    m_store = *std::move(opened);
}

TEST_P(StoreConformance, what_is_put_comes_back_whole)
{
    constexpr std::array k_sizes{0U, 1U, 100U, 4096U, 16384U, 220'000U, 3'000'001U};
    for (const std::size_t size : k_sizes)
        ASSERT_EQ(code_of(m_store->put(name_for(size), bytes_for(size, size), soon())), "ok") << size;
    for (const std::size_t size : k_sizes) {
        const auto got = m_store->get(name_for(size), soon());
        ASSERT_EQ(code_of(got), "ok") << size;
        EXPECT_EQ(*got, bytes_for(size, size)) << size;
    }
    EXPECT_FALSE(m_store->description().empty());
}

TEST_P(StoreConformance, a_new_value_replaces_the_old_one_and_what_is_not_there_or_removed_is_none_and_no_error)
{
    const auto expect_none = [&] {
        const auto got = m_store->get(name_for(1), soon());
        ASSERT_EQ(code_of(got), "ok");
        EXPECT_FALSE(got->has_value());
        const Result<bool> removed = m_store->remove(name_for(1), soon());
        ASSERT_EQ(code_of(removed), "ok");
        EXPECT_FALSE(*removed);
    };
    expect_none();
    ASSERT_EQ(code_of(m_store->put(name_for(1), bytes_for(1, 500), soon())), "ok");
    ASSERT_EQ(code_of(m_store->put(name_for(1), bytes_for(2, 90), soon())), "ok");
    EXPECT_EQ(m_store->get(name_for(1), soon()).value().value(), bytes_for(2, 90));
    EXPECT_TRUE(m_store->remove(name_for(1), soon()).value());
    expect_none();
}

TEST_P(StoreConformance, many_are_answered_in_their_order)
{
    std::vector<Bytes> bytes;
    for (std::uint64_t i = 0; i < 100; ++i)
        bytes.push_back(bytes_for(i, i * 137));
    std::vector<Object> objects;
    for (std::uint64_t i = 0; i < 100; i += 2)
        objects.push_back({name_for(i), bytes[i]});
    for (const Status& status : m_store->put_many(objects, soon()))
        ASSERT_EQ(code_of(status), "ok");
    std::vector<std::string> names;
    for (std::uint64_t i = 0; i < 100; ++i)
        names.push_back(name_for((i * 37) % 100));
    const auto got = m_store->get_many(names, soon());
    const auto has = m_store->has_many(names, soon());
    ASSERT_EQ(got.size(), 100U);
    ASSERT_EQ(has.size(), 100U);
    for (std::uint64_t i = 0; i < 100; ++i) {
        const std::uint64_t number = (i * 37) % 100;
        ASSERT_EQ(code_of(got[i]), "ok");
        ASSERT_EQ(code_of(has[i]), "ok");
        EXPECT_EQ(*has[i], number % 2 == 0) << number;
        EXPECT_EQ(*got[i], number % 2 == 0 ? std::optional(bytes[number]) : std::nullopt) << number;
    }
    EXPECT_TRUE(m_store->get_many({}, soon()).empty());
    EXPECT_TRUE(m_store->has_many({}, soon()).empty());
    EXPECT_TRUE(m_store->put_many({}, soon()).empty());
}

TEST_P(StoreConformance, lists_what_it_holds)
{
    const auto visit_none = [](std::string_view, std::uint64_t) { return true; };
    if (!GetParam().lists) {
        EXPECT_EQ(code_of(m_store->list(visit_none, soon())), "other_version");
        return;
    }
    std::set<std::string> expected;
    for (std::uint64_t i = 0; i < 1500; i += 100) {
        ASSERT_TRUE(m_store->put(name_for(i), bytes_for(i, 10), soon()).ok());
        expected.insert(name_for(i));
    }
    EXPECT_EQ(names_in(*m_store), expected);
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
        EXPECT_EQ(code_of(first), "other_version");
        return;
    }
    EXPECT_TRUE(first.value());
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
    EXPECT_TRUE(eventually("the lease is gone", [&] {
        return m_store->put_if_absent("k.lease", theirs, std::chrono::milliseconds(60'000), soon()).value();
    }));
}

TEST_P(StoreConformance, an_object_beyond_the_limit_is_refused_and_leaves_the_others_of_its_batch)
{
    constexpr std::size_t k_limit = 1000;
    const std::vector<std::string> names = {"a", "big", "b", "bigger", "c"};
    const std::vector<std::size_t> sizes = {100, 2000, 900, 300'000, k_limit};
    for (std::size_t i = 0; i < names.size(); ++i)
        ASSERT_EQ(code_of(m_store->put(names[i], bytes_for(i, sizes[i]), soon())), "ok");
    remotes::StoreOptions options = options_for(m_server->url);
    options.max_object_bytes = k_limit;
    const auto small = m_server->open(options).value();
    const auto many = small->get_many(names, soon());
    for (std::size_t i = 0; i < names.size(); ++i)
        for (const auto& got : {many[i], small->get(names[i], soon())}) {
            if (sizes[i] > k_limit)
                EXPECT_EQ(code_of(got), "too_large") << names[i];
            else
                EXPECT_EQ(got.value().value(), bytes_for(i, sizes[i])) << names[i];
        }
    const Bytes fits = bytes_for(1, 10);
    const Bytes does_not = bytes_for(2, k_limit + 1);
    EXPECT_EQ(code_of(small->put("y", does_not, soon())), "too_large");
    const auto put = small->put_many(std::vector<Object>{{"x", fits}, {"y", does_not}, {"z", fits}}, soon());
    EXPECT_EQ(code_of(put[0]), "ok");
    EXPECT_EQ(code_of(put[1]), "too_large");
    EXPECT_EQ(code_of(put[2]), "ok");
    EXPECT_EQ(small->get("z", soon()).value().value(), fits) << "it goes on";
    EXPECT_FALSE(m_store->get("y", soon()).value().has_value());
}

TEST_P(StoreConformance, a_deadline_that_has_passed_is_a_timeout)
{
    EXPECT_EQ(code_of(m_store->get(name_for(1), in(std::chrono::milliseconds(-1)))), "timeout");
    EXPECT_TRUE(m_store->get(name_for(1), soon()).ok()) << "and the next goes on";
}

TEST_P(StoreConformance, threads_get_what_they_asked_for)
{
    // There are fewer connections than threads: some wait for their turn.
    remotes::StoreOptions options = options_for(m_server->url);
    options.max_connections = 1;
    const auto alone = m_server->open(options).value();
    for (remotes::RemoteStore* const store : {m_store.get(), alone.get()}) {
        in_threads(6, [&](std::uint64_t t) {
            for (std::uint64_t number = t * 1000; number < t * 1000 + 10; ++number) {
                const Bytes bytes = bytes_for(number, 100 + number % 1000 * 777);
                ASSERT_EQ(code_of(store->put(name_for(number), bytes, soon())), "ok");
                const auto got = store->get(name_for(number), soon());
                ASSERT_EQ(code_of(got), "ok");
                EXPECT_EQ(*got, bytes);
            }
        });
    }
}

TEST_P(StoreConformance, a_forked_child_has_connections_of_its_own)
{
    ASSERT_TRUE(m_store->put(name_for(1), bytes_for(1, 5000), soon()).ok());
    const pid_t child = ::fork();
    if (child == 0) {
        m_store->after_fork();
        bool right = true;
        for (int i = 0; i < 20; ++i) {
            const auto got = m_store->get(name_for(1), soon());
            right = right && got.ok() && got->has_value() && **got == bytes_for(1, 5000);
        }
        ::_exit(right ? 0 : 1);
    }
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(m_store->get(name_for(1), soon()).value().value(), bytes_for(1, 5000));
    EXPECT_TRUE(child_was_right(child));
    EXPECT_EQ(m_store->get(name_for(1), soon()).value().value(), bytes_for(1, 5000));
}

}  // namespace hearth::test
