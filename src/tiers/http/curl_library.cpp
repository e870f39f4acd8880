#include "tiers/http/curl_library.hpp"

#include <curl/curl.h>
#include <mutex>

namespace hearth::tiers::http {

namespace {

constinit std::once_flag g_once;
constinit bool g_ready = false;

}  // namespace

bool curl_ready()
{
    // Never cleaned up: another user of libcurl in this process may outlive us.
    std::call_once(g_once, [] { g_ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK; });
    return g_ready;
}

}  // namespace hearth::tiers::http
