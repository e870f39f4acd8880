#include "base/workers.hpp"

#include "base/own_thread.hpp"

#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace hearth::base {

TEST(Workers, where_no_thread_can_be_had_the_caller_runs_the_task_itself)
{
    Workers workers(4);
    std::thread::id ran_on;
    fail_thread_starts(1);
    workers.submit([&](Workers::Call call) {
        EXPECT_EQ(call, Workers::Call::run);
        ran_on = std::this_thread::get_id();
    });
    EXPECT_EQ(ran_on, std::this_thread::get_id());
    std::promise<std::thread::id> later;
    workers.submit([&](Workers::Call) { later.set_value(std::this_thread::get_id()); });
    EXPECT_NE(later.get_future().get(), std::this_thread::get_id());
}

TEST(Workers, what_others_wait_for_has_the_next_turn_also_after_a_task_that_throws)
{
    Workers workers(1);
    std::promise<void> go_on;
    std::thread::id thread;
    workers.submit([&](Workers::Call) {
        thread = std::this_thread::get_id();
        go_on.get_future().wait();
        throw std::runtime_error("from a task");
    });
    std::string order;
    std::promise<std::thread::id> last;
    workers.submit([&](Workers::Call) { order += 'a'; });
    workers.submit([&](Workers::Call) {
        order += 'b';
        last.set_value(std::this_thread::get_id());
    });
    workers.submit([&](Workers::Call) { order += 'n'; }, Workers::Turn::next);
    go_on.set_value();
    EXPECT_EQ(last.get_future().get(), thread) << "neither the process nor its thread has ended";
    EXPECT_EQ(order, "nab");
}

namespace {

// Calls a function when the last copy of what captured it goes.
std::shared_ptr<void> call_at_end(std::function<void()> then)
{
    return {nullptr, [then = std::move(then)](void*) { then(); }};
}

}  // namespace

TEST(Workers, what_a_task_owns_may_submit_when_it_is_destroyed)
{
    Workers workers(1);
    std::promise<void> submitted;
    workers.submit([at_end = call_at_end([&] { workers.submit([&](Workers::Call) { submitted.set_value(); }); })](
                       Workers::Call) {});
    submitted.get_future().get();
}

TEST(Workers, a_task_may_own_the_last_of_its_workers)
{
    auto workers = std::make_shared<Workers>(2);
    std::promise<void> let_go;
    std::promise<void> ended;
    Workers& plain = *workers;
    plain.submit([at_end = call_at_end([&] { ended.set_value(); }), last = std::move(workers),
                  wait = let_go.get_future().share()](Workers::Call) { wait.get(); });
    let_go.set_value();
    ended.get_future().get();
}

TEST(Workers, a_task_may_stop_its_own_workers_and_those_that_wait_are_cancelled)
{
    Workers workers(1);
    std::promise<Workers::Call> told;
    std::promise<void> queued;
    workers.submit([&, wait = queued.get_future().share()](Workers::Call) {
        wait.get();
        workers.stop();
    });
    workers.submit([&](Workers::Call call) { told.set_value(call); });
    queued.set_value();
    EXPECT_EQ(told.get_future().get(), Workers::Call::cancelled);
}

}  // namespace hearth::base
