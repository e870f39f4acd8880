#include "fuzz/server_inputs.hpp"

#include "remote/breaker.hpp"
#include "support/single_file.hpp"

namespace hearth::fuzz {

namespace {

std::string bulk(const std::string& text)
{
    return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

// A reply for each kind, and each of the numbers at which lengths and counts go wrong.
Inputs redis_answers()
{
    return {{"lines", "+OK\r\n:-42\r\n:9223372036854775807\r\n-ERR unknown command\r\n-OOM used memory\r\n+\r\n"},
            {"bulks", bulk("artifact") + bulk("") + "$-1\r\n" + bulk(std::string(1000, 'x'))},
            {"too_large_and_on", bulk(std::string(1001, 'x')) + "+OK\r\n"},
            {"too_large", "$9223372036854775807\r\nabc"},
            {"no_length", "$9223372036854775808\r\n"},
            {"negative", "*2\r\n$-1\r\n*-1\r\n"},
            {"negative_length", "*1\r\n$-2\r\n"},
            {"long_part", "*1\r\n$16777217\r\nabc"},
            {"endless_part", "*1\r\n$9223372036854775807\r\n"},
            {"many", "*524288\r\n:1\r\n:2\r\n"},
            {"too_many", "*2147483647\r\n"},
            {"nested", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"},
            {"nested_too_deep", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"},
            {"every_kind", "*7\r\n:1\r\n+a\r\n-ERR b\r\n" + bulk("c") + "$-1\r\n*0\r\n*2\r\n:1\r\n:2\r\n"},
            {"two_for_one", "*1\r\n:1\r\n:2\r\n"},
            {"version_3", "%1\r\n+a\r\n+b\r\n"},
            {"http", "HTTP/1.1 400 Bad Request\r\n\r\n"}};
}

std::string node(const std::string& host, const std::string& port)
{
    return "*4\r\n" + bulk(host) + ":" + port + "\r\n" + bulk("07c37dfeb235213a872192d90877d0cd55635b91") + "*0\r\n";
}

std::string range(const std::string& first, const std::string& last, const std::string& nodes, int count)
{
    return "*" + std::to_string(2 + count) + "\r\n:" + first + "\r\n:" + last + "\r\n" + nodes;
}

Inputs redis_slots()
{
    return {{"three_masters", "*3\r\n" +
                                  range("0", "5460", node("127.0.0.1", "30001") + node("127.0.0.1", "30004"), 2) +
                                  range("5461", "10922", node("127.0.0.1", "30002"), 1) +
                                  range("10923", "16383", node("::1", "30003"), 1)},
            {"asked_host",
             "*2\r\n" + range("0", "0", node("", "30001"), 1) + range("16383", "16383", "*2\r\n$-1\r\n:65535\r\n", 1)},
            {"unknown_host", "*2\r\n" + range("0", "99", node("?", "30001"), 1) +
                                 range("100", "199", node("h", "30002") + node("?", "30003"), 2)},
            {"overlap", "*2\r\n" + range("0", "16383", node("a", "1"), 1) + range("5", "9", node("b", "2"), 1)},
            {"backwards", "*1\r\n" + range("5", "4", node("a", "1"), 1)},
            {"beyond", "*1\r\n" + range("0", "16384", node("a", "1"), 1)},
            {"no_port", "*1\r\n" + range("0", "1", node("a", "65536"), 1)},
            {"empty", "*0\r\n"},
            {"moved", "MOVED 3999 127.0.0.1:6381"},
            {"moved_reply", "-MOVED 16383 ::1:65535\r\n"},
            {"ask", "ASK 0 :6381"},
            {"ask_unknown", "-ASK 1 ?:6381\r\n"},
            {"tag", "a{b}{c"}};
}

Inputs redis_scans()
{
    const std::string key(64, 'a');
    return {{"page", "*2\r\n" + bulk("17") + "*2\r\n" + bulk("hearth:" + key) + bulk("hearth:" + key + ".lease")},
            {"last", "*2\r\n" + bulk("0") + "*0\r\n"},
            {"others", "*2\r\n" + bulk("18446744073709551615") + "*4\r\n" + bulk("hearth:../a/b") + bulk("other") +
                           bulk(std::string("hearth:a\0b", 10)) + bulk("hearth:" + std::string(129, 'a'))},
            {"no_cursor", "*2\r\n:1\r\n*0\r\n"},
            {"info", "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n"}};
}

std::string listed(const std::string& key, const std::string& size)
{
    return "<Contents><Key>" + key + "</Key><Size>" + size + "</Size><ETag>&quot;e&quot;</ETag></Contents>";
}

std::string listing(const std::string& content)
{
    return "<?xml version=\"1.0\"?>\n<ListBucketResult xmlns=\"http://s3/\"><Name>b</Name>" + content +
           "</ListBucketResult>";
}

Inputs s3_listings()
{
    return {
        {"last_page", listing("<IsTruncated>false</IsTruncated>" + listed("p/a", "17") + listed("p/.b/c", "0"))},
        {"page", listing(listed("p/" + std::string(64, 'a') + ".lease", "18446744073709551615") +
                         "<IsTruncated>true</IsTruncated><NextContinuationToken>1&amp;2==</NextContinuationToken>")},
        {"empty", listing("")},
        {"no_token", listing("<IsTruncated>true</IsTruncated>")},
        {"no_size", listing(listed("a", "-1"))},
        {"poser", listing(listed("&lt;IsTruncated&gt;true", "1"))},
        {"references", "&amp;&lt;&gt;&quot;&apos;&#228;&#x20AC;&#x1F525;&#1114111;&#0;&#xD800;&nope;&#x;&"},
        {"error", "<?xml version=\"1.0\"?><Error><Code>NoSuchBucket</Code><Message>x</Message></Error>"}};
}

Inputs http_answers()
{
    const std::string ok = "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\n";
    return {
        {"get", "g" + ok + "Content-Length: 8\r\n\r\nartifact"},
        {"get_chunked", "g" + ok + "Transfer-Encoding: chunked\r\n\r\n4\r\narti\r\n4;x=y\r\nfact\r\n0\r\nT: v\r\n\r\n"},
        {"get_cut", "g" + ok + "Content-Length: 9\r\n\r\nartifact"},
        {"get_without_end", "g" + ok + "\r\nartifact"},
        {"get_two_lengths", "g" + ok + "Content-Length: 8\r\nContent-Length: 9\r\n\r\nartifact"},
        {"get_length_and_chunks", "g" + ok + "Content-Length: 8\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
        {"get_part", "gHTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-0/8\r\nContent-Length: 1\r\n\r\na"},
        {"get_too_large", "g" + ok + "Content-Length: 9223372036854775807\r\n\r\nartifact"},
        {"get_too_many_chunks", "g" + ok + "Transfer-Encoding: chunked\r\n\r\n1389\r\n" + std::string(5001, 'x')},
        {"get_no_length", "g" + ok + "Content-Length: 18446744073709551616\r\n\r\nartifact"},
        {"get_negative", "g" + ok + "Content-Length: -1\r\n\r\nartifact"},
        {"get_early_hint", "gHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok + "Content-Length: 1\r\n\r\na"},
        {"get_not_modified", "gHTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"},
        {"get_old", "gHTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na"},
        {"get_older", "gartifact"},
        {"get_redirected", "gHTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n\x1E" + ok +
                               "Content-Length: 1\r\n\r\na"},
        {"get_elsewhere", "gHTTP/1.1 301 Moved\r\nLocation: ftp://other/x\r\nContent-Length: 0\r\n\r\n"},
        {"get_absent", "gHTTP/1.1 404 Not Found\r\nContent-Length: 40\r\n\r\n<Error><Code>NoSuchBucket</Code></Error>"},
        {"get_denied", "gHTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n"},
        {"head", "h" + ok + "Content-Length: 9223372036854775807\r\n\r\n"},
        {"head_with_body", "h" + ok + "Content-Length: 8\r\n\r\nartifact"},
        {"put", "pHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"},
        {"put_redirected", "pHTTP/1.1 307 There\r\nLocation: http://other:81/x\r\nContent-Length: 0\r\n\r\n"
                           "\x1EHTTP/1.1 204 No Content\r\n\r\n"},
        {"put_refused", "pHTTP/1.1 507 Full\r\nConnection: close\r\n\r\nno room"},
        {"put_twice", "pHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 412 There\r\nContent-Length: 0\r\n\r\n"},
        {"remove", "dHTTP/1.1 204 No Content\r\n\r\n"},
        {"first_header_continues", "gHTTP/1.1 200 OK\r\n more: of it\r\nServer: a\r\n b\r\nContent-Length: 1\r\n\r\na"},
        {"status_of_one_digit", "dHTTP/204 No Content\r\n\r\n"},
        {"no_http", "g$-1\r\n"}};
}

Inputs lease_objects()
{
    return {{"lease", "hearth-lease 1 1700000000123\n0123456789abcdef host 17"},
            {"no_content", "hearth-lease 1 5\n"},
            {"last", "hearth-lease 1 9223372036854775807\nx"},
            {"beyond", "hearth-lease 1 9223372036854775808\nx"},
            {"negative", "hearth-lease 1 -5\nx"},
            {"next_version", "hearth-lease 2 5\nx"},
            {"no_lease", std::string("\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8)}};
}

Inputs aws_files()
{
    return {{"credentials", "# comment\r\n[default]\r\naws_access_key_id=DK\r\naws_secret_access_key = d/s=+ \r\n\r\n"
                            "[ work ]\naws_access_key_id = WK\naws_secret_access_key = longer/secret\n"
                            "aws_session_token = wt\ns3 =\n  aws_access_key_id = nested\n"},
            {"config", "[default]\nregion = eu-west-1\n[profile work]\nregion=eu-north-1\n; end"},
            {"half", "[default]\naws_secret_access_key = longer/secret"},
            {"twice", "[default]\nregion=a\n[x]\nregion=b\n[default]\nregion=\nregion = c=d"},
            {"odd", "[\n[]\n]\n=\n[default\nregion=a\n[default]\n=x\nregion\n\tregion = b\n"}};
}

std::string breaker_file(remotes::Breaker::Failure failure, int times, std::uint64_t now)
{
    test::SingleFile file;
    remotes::Breaker breaker(
        "state/remote", [now] { return now; }, file);
    for (int i = 0; i < times; ++i)
        breaker.failed(failure);
    return file.content();
}

Inputs breakers()
{
    using Failure = remotes::Breaker::Failure;
    constexpr std::uint64_t k_now = 1'700'000'000'000'000'000;  // as breaker_fuzz.cpp has it
    test::SingleFile working;
    {
        remotes::Breaker breaker(
            "state/remote", [] { return k_now; }, working);
        breaker.failed(Failure::server);
        breaker.succeeded();
    }
    return {{"working", working.content()},
            {"down", breaker_file(Failure::server, 1, k_now)},
            {"down_for_long", breaker_file(Failure::refusal, 1, k_now)},
            {"over", breaker_file(Failure::server, 3, k_now - 10'000'000'000)},
            {"clock_set_back", breaker_file(Failure::server, 1, k_now + 3'600'000'000'000)},
            {"long_pause", breaker_file(Failure::server, 1, k_now).substr(0, 16) +
                               std::string("\x00\x00\x00\x80\x00\x00\x00\x00", 8)},
            {"empty", ""}};
}

}  // namespace

std::map<std::string, Inputs> server_inputs()
{
    return {{"redis_answer", redis_answers()}, {"redis_slots", redis_slots()},  {"redis_scan", redis_scans()},
            {"s3_listing", s3_listings()},     {"http_answer", http_answers()}, {"lease_object", lease_objects()},
            {"aws_files", aws_files()},        {"breaker", breakers()}};
}

}  // namespace hearth::fuzz
