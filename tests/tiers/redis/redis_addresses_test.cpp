#include "redis_fixture.hpp"
#include "support/eventually.hpp"

#include <atomic>
#include <dlfcn.h>
#include <netdb.h>

namespace hearth::test {

namespace {

// The one name whose server is silent until it is told to answer, and one that nobody has.
constexpr const char* k_silent = "silent.invalid";
constexpr const char* k_unknown = "unknown.invalid";
// Of the silent one. A lookup may come late, when its test has ended.
std::atomic<int> g_asked = 0;
std::atomic<int> g_asking = 0;
std::atomic<bool> g_answers = false;

}  // namespace

// In the place of the C library's.
extern "C" __attribute__((visibility("default"))) int getaddrinfo(const char* node, const char* service,
                                                                  const addrinfo* hints, addrinfo** found)
{
    if (node != nullptr && (hints->ai_flags & AI_NUMERICHOST) == 0 && std::string_view(node) == k_silent) {
        ++g_asking;
        ++g_asked;
        g_answers.wait(false);
        --g_asking;
        return EAI_NONAME;
    }
    if (node != nullptr && std::string_view(node) == k_unknown)
        return EAI_NONAME;
    using Function = int(const char*, const char*, const addrinfo*, addrinfo**);
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, "getaddrinfo"))(node, service, hints, found);
}

TEST(RedisAddresses, a_name_server_that_is_silent_costs_the_deadline_and_no_more)
{
    // Without a deadline this would wait for an answer that comes only afterwards. If the deadline has passed before
    // anybody was asked, it is tried again.
    EXPECT_TRUE(eventually("the silent one is asked", [] {
        const auto got = store_at(std::string("redis://") + k_silent)->get("name", in(std::chrono::milliseconds(20)));
        EXPECT_EQ(code_of(got), "timeout");
        return g_asked != 0;
    }));
    g_answers = true;
    g_answers.notify_all();
    EXPECT_TRUE(eventually("its lookup has ended", [] { return g_asking == 0; }));
}

TEST(RedisAddresses, a_name_that_nobody_knows_is_told)
{
    const auto got = store_at(std::string("redis://") + k_unknown)->get("name", soon());
    ASSERT_FALSE(got.ok());
    EXPECT_NE(got.error().message.find("is not known"), std::string::npos) << got.error().message;
}

}  // namespace hearth::test
