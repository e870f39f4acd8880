#include "remote/tls_options.hpp"

#include "base/error.hpp"

#include <fmt/format.h>

namespace hearth::remotes {

namespace {

Error unusable(std::string why)
{
    return {Code::invalid_argument, std::move(why), {}};
}

}  // namespace

Result<TlsOptions> tls_options(const Url& url)
{
    TlsOptions options;
    const std::string insecure = url.option("insecure").value_or("0");
    if (insecure != "0" && insecure != "1")
        return unusable(fmt::format("insecure is \"{}\"; it may be 0 or 1.", insecure));
    options.verify = insecure == "1" ? Verify::nothing : Verify::peer;
    if (url.option("ca") && url.option("ca")->empty())
        return unusable("ca is empty; it is the path of a file with certificates in PEM format.");
    options.ca_file = url.option("ca").value_or("");

    options.ours = {url.option("cert").value_or(""), url.option("key").value_or("")};
    if (!url.option("cert") && !url.option("key"))
        return options;
    if (options.ours.certificate.empty() || options.ours.key.empty())
        return unusable(fmt::format("it has {0} and no {1}. cert is the path of our certificate and key that of its "
                                    "private key, both in PEM format; where one file holds both, name it twice.",
                                    options.ours.key.empty() ? "cert" : "key",
                                    options.ours.key.empty() ? "key" : "cert"));
    HEARTH_TRY(base::check(options.ours));
    return options;
}

}  // namespace hearth::remotes
