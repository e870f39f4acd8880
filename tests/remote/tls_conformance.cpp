#include "remote/server_conformance.hpp"

#include "support/process.hpp"

#include <fmt/format.h>

namespace hearth::test {

namespace {

bool says(const std::string& message, const std::string& words)
{
    return message.find(words) != std::string::npos;
}

}  // namespace

void ServerConformance::SetUp()
{
    if (!GetParam().installed() || !shared_ca())
        GTEST_SKIP() << "No server of this kind, or no openssl, is installed: scripts/install-deps test";
}

void TlsConformance::expect_denied(remotes::RemoteStore& store, const std::vector<std::string>& words)
{
    const std::vector<std::string> names{"a", "b"};
    std::vector<Error> errors;
    const auto note = [&](const auto& result) {
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.error().code, Code::denied) << result.error().message;
        errors.push_back(result.error());
    };
    note(store.get("name", soon()));
    note(store.put("name", as_bytes("x"), soon()));
    for (const auto& got : store.get_many(names, soon()))
        note(got);
    for (const Error& error : errors)
        for (const std::string& word : words)
            EXPECT_TRUE(says(error.message, word)) << error.message;
    // An answer to HEAD, which some of these begin with, has no room for a reason.
    errors.clear();
    note(store.remove("name", soon()));
    for (const auto& has : store.has_many(names, soon()))
        note(has);
    for (const Error& error : errors)
        EXPECT_TRUE(says(error.message, "cert")) << error.message;
}

TEST_P(TlsConformance, a_certificate_is_checked)
{
    const auto server = start({.certificate = shared_ca()->good()});
    const TestCa others;
    EXPECT_EQ(code_of(get(server, ca())), "ok");
    EXPECT_EQ(code_of(get(server, ca(), "localhost")), "ok");
    EXPECT_EQ(code_of(get(server, "ca=" + others.file())), "denied");
    const auto unknown = get(server, "");
    ASSERT_EQ(code_of(unknown), "denied") << "the system does not know it either";
    EXPECT_TRUE(says(unknown.error().message, "ca=FILE")) << unknown.error().message;
    EXPECT_EQ(code_of(get(server, "insecure=1")), "ok") << "unless nobody looks";
    const auto store = try_to_open(url_of({.port = server.port, .tls = true, .options = "ca=/no/such/file.pem"}));
    const Error problem = store.ok() ? (*store)->get("name", soon()).error() : store.error();
    EXPECT_EQ(problem.code, store.ok() ? Code::denied : Code::invalid_argument) << problem.message;
    EXPECT_TRUE(says(problem.message, "/no/such/file.pem")) << problem.message;
}

TEST_P(TlsConformance, an_expired_certificate_and_another_hosts_are_denied)
{
    const auto got = get(start({.certificate = shared_ca()->expired()}), ca());
    ASSERT_EQ(code_of(got), "denied");
    EXPECT_TRUE(says(got.error().message, "expired")) << got.error().message;
    const auto server = start({.certificate = shared_ca()->issue("other", "DNS:elsewhere.invalid,IP:127.0.0.2")});
    EXPECT_EQ(code_of(get(server, ca())), "denied");
    EXPECT_EQ(code_of(get(server, ca(), "localhost")), "denied");
    for (const auto& one : open_at(server, ca())->get_many(std::vector<std::string>{"a", "b"}, soon()))
        EXPECT_EQ(code_of(one), "denied");
}

// A server that demands a certificate of those who connect.

TEST_P(TlsConformance, with_the_right_certificate_objects_come_and_go_and_one_file_may_hold_it_and_its_key)
{
    const auto server = demanding();
    const TestCa::Certificate ours = shared_ca()->client();
    const auto store = open_at(server, showing(ours));
    ASSERT_EQ(code_of(store->put("name", bytes_for(1, 300'000), soon())), "ok");
    EXPECT_EQ(store->get("name", soon()).value().value(), bytes_for(1, 300'000));
    EXPECT_EQ(store->get_many(std::vector<std::string>{"name", "other"}, soon())[0].value().value(),
              bytes_for(1, 300'000));
    EXPECT_TRUE(store->remove("name", soon()).value());
    const ScratchDirectory folder;
    write_file(folder / "both.pem", read_file(ours.key) + read_file(ours.file));
    EXPECT_EQ(code_of(get(server, showing({folder / "both.pem", folder / "both.pem"}))), "ok");
}

// Each version of TLS ends the connection in its own way.
TEST_P(TlsConformance, without_the_right_certificate_it_is_denied_with_what_to_do)
{
    const TestCa others;
    const TestCa::Certificate theirs = others.client();
    const TestCa::Certificate old = shared_ca()->expired();
    for (const char* version : {"TLSv1.2", "TLSv1.3"}) {
        SCOPED_TRACE(version);
        const auto server = demanding(version);
        const std::string port = std::to_string(server.port);
        expect_denied(*open_at(server, ca()), {port, "cert=FILE", "key=FILE"});
        expect_denied(*open_at(server, showing(theirs)), {theirs.file, "authority"});
        expect_denied(*open_at(server, showing(old)), {old.file, "valid today"});
    }
}

TEST_P(TlsConformance, a_server_that_asks_and_does_not_insist_is_served_without)
{
    const auto server = start({.certificate = shared_ca()->good(),
                               .clients_authority = shared_ca()->file(),
                               .insists_on_certificates = false});
    const auto store = open_at(server, ca());
    EXPECT_EQ(code_of(store->get("name", soon())), "ok");
    server.process->kill();
    EXPECT_EQ(code_of(store->get("name", soon())), "unavailable") << "it went away, and refused nothing";
}

TEST_P(TlsConformance, files_that_cannot_be_used_are_named_and_not_shown)
{
    const TestCa::Certificate ours = shared_ca()->client();
    const TestCa::Certificate others = shared_ca()->good();
    const ScratchDirectory folder;
    write_file(folder / "garbage", "hush, this is no key\n");
    const std::string locked = folder / "locked.key";
    ASSERT_EQ(run_process({"/usr/bin/env", "openssl", "pkcs8", "-topk8", "-in", ours.key, "-passout", "pass:word",
                           "-out", locked})
                  .exit_code,
              0);
    const std::string cert = "cert=" + ours.file;
    const std::string key = "key=" + ours.key;
    const std::pair<std::string, std::string> cases[] = {
        {cert, "no key"},
        {key, "no cert"},
        {cert + "&key=", "no key"},
        {cert + "&key=/no/such/key", "/no/such/key cannot be read: No such file"},
        {"cert=/no/such/cert&" + key, "/no/such/cert cannot be read: No such file"},
        {"cert=" + folder.path() + "&" + key, folder.path() + " holds no certificate"},
        {"cert=" + (folder / "garbage") + "&" + key, "garbage holds no certificate"},
        {cert + "&key=" + (folder / "garbage"), "garbage holds no private key"},
        {cert + "&key=" + ours.file, "holds no private key"},
        {cert + "&key=" + others.key, others.key + " does not belong to the certificate " + ours.file},
        {cert + "&key=" + locked, "encrypted"},
        {cert + "&" + key + "&insecure=maybe", "0 or 1"},
        {cert + "&keys=/x", "Did you mean key?"},
    };
    const std::string secret = read_file(ours.key).substr(30, 40);
    const auto expect_problem = [&](const Place& place, const std::string& hint) {
        const auto store = try_to_open(url_of(place));
        ASSERT_EQ(code_of(store), "invalid_argument") << place.options;
        EXPECT_TRUE(says(store.error().message, hint)) << place.options << ": " << store.error().message;
        for (const std::string& never : {std::string("hush"), secret})
            EXPECT_FALSE(says(store.error().message, never)) << store.error().message;
    };
    const std::string& login = GetParam().right_login;
    for (const auto& [options, hint] : cases)
        expect_problem({.port = 1, .tls = true, .login = login, .options = options}, hint);
    expect_problem({.port = 1, .login = login, .options = cert + "&" + key}, "https");
    EXPECT_TRUE(try_to_open(url_of({.port = 1, .tls = true, .login = login, .options = cert + "&" + key})).ok());
}

}  // namespace hearth::test
