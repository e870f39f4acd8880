#include "remote/write_behind.hpp"

#include "base/own_thread.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <latch>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace hearth::remotes {

namespace {

using namespace std::chrono_literals;

Outgoing object(const char* name)
{
    return {Outgoing::Kind::object, name, Bytes::copy_of(std::string_view("bytes"))};
}

std::chrono::milliseconds never()
{
    return 0ms;
}

std::vector<bool> all_of(std::span<const Outgoing> batch, bool were_sent = true)
{
    return std::vector<bool>(batch.size(), were_sent);
}

constexpr WriteBehind::Bounds k_plenty{1_MiB, 100};

}  // namespace

TEST(WriteBehind, without_a_thread_nothing_is_taken_and_the_next_one_tries_again)
{
    std::atomic<int> sent{0};
    WriteBehind writes(
        k_plenty,
        [&](std::span<Outgoing> batch) {
            sent += static_cast<int>(batch.size());
            return all_of(batch);
        },
        never);
    base::fail_thread_starts(2);
    EXPECT_FALSE(writes.add(object("a")));
    EXPECT_FALSE(writes.add({Outgoing::Kind::end_of_lease, "a.lease", {}}));
    EXPECT_EQ(writes.waiting().entries, 0U);
    EXPECT_TRUE(writes.flush(1h)) << "there is nothing to wait for";
    EXPECT_TRUE(writes.add(object("b")));
    EXPECT_TRUE(writes.flush(1h));
    EXPECT_EQ(sent, 1);
}

TEST(WriteBehind, a_send_that_throws_is_tried_again_and_a_tick_that_throws_keeps_nothing_from_being_sent)
{
    std::atomic<int> tries{0};
    WriteBehind writes(
        k_plenty,
        [&](std::span<Outgoing> batch) {
            if (++tries == 1)
                throw std::bad_alloc();
            return all_of(batch);
        },
        []() -> std::chrono::milliseconds { throw std::runtime_error("a tick"); });
    EXPECT_TRUE(writes.add(object("a")));
    EXPECT_TRUE(writes.flush(1h));
    EXPECT_EQ(tries, 2);
}

TEST(WriteBehind, an_older_value_is_never_sent_with_a_newer_one_or_after_it)
{
    for (const bool rests : {false, true}) {
        std::vector<std::vector<std::string>> batches;
        std::latch first(1);
        std::latch added(1);
        WriteBehind writes(
            k_plenty,
            [&](std::span<Outgoing> batch) {
                std::vector<std::string>& sent = batches.emplace_back();
                for (Outgoing& one : batch)
                    sent.push_back(one.name + "=" + std::string(one.bytes.text()));
                if (batches.size() > 1)
                    return all_of(batch);
                first.count_down();
                added.wait();
                for (Outgoing& one : batch)
                    one.rests = rests;
                return all_of(batch, false);
            },
            never);
        const auto add = [&](const char* name, std::string_view value) {
            EXPECT_TRUE(writes.add({Outgoing::Kind::object, name, Bytes::copy_of(value)}));
        };
        add("k", "1");
        first.wait();
        add("other", "1");
        add("k", "2");
        add("k", "3");
        EXPECT_EQ(writes.waiting().entries, 3U) << "the one under way, and the newest of each";
        added.count_down();
        EXPECT_TRUE(writes.flush(1h));
        EXPECT_EQ(writes.waiting().bytes, 0U);
        EXPECT_EQ(writes.stop(1h), 0U);
        ASSERT_EQ(batches.size(), 2U);
        EXPECT_EQ(batches[1], (std::vector<std::string>{"other=1", "k=3"})) << rests;
    }
}

TEST(WriteBehind, what_is_dropped_is_not_sent_also_if_its_sending_failed)
{
    std::latch sending(1);
    std::latch fail(1);
    std::vector<std::string> sent;
    WriteBehind writes(
        k_plenty,
        [&, first = true](std::span<Outgoing> batch) mutable {
            if (std::exchange(first, false)) {
                sending.count_down();
                fail.wait();
                return all_of(batch, false);
            }
            for (const Outgoing& one : batch)
                sent.push_back(one.name);
            return all_of(batch);
        },
        never);
    EXPECT_TRUE(writes.add(object("under way")));
    sending.wait();
    EXPECT_TRUE(writes.add(object("queued")));
    EXPECT_TRUE(writes.add(object("kept")));
    writes.drop("queued", 1h);
    EXPECT_EQ(writes.waiting().entries, 2U);
    writes.drop("under way", 0ms);
    fail.count_down();
    EXPECT_TRUE(writes.flush(1h));
    writes.stop(1h);
    EXPECT_EQ(sent, std::vector<std::string>{"kept"});
}

}  // namespace hearth::remotes
