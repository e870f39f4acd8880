#include "remote/tls_options.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth::remotes {

Result<TlsOptions> tls_options(const Url& url, Encrypted encrypted)
{
    const auto& names = k_names_of_tls_options;
    const auto is_given = [&](std::string_view name) { return url.option(name).has_value(); };
    if (encrypted == Encrypted::no && std::any_of(names.begin(), names.end(), is_given))
        return unusable(url, fmt::format("{} are about TLS, which this address does without. Use https or rediss.",
                                         base::listed(names)));
    TlsOptions options;
    const std::string insecure = url.option("insecure").value_or("0");
    const std::optional<bool> any_certificate = base::parse_bool(insecure);
    if (!any_certificate)
        return unusable(url, fmt::format("insecure is \"{}\"; it may be 0 or 1.", base::printable(insecure)));
    options.verify = *any_certificate ? Verify::nothing : Verify::peer;
    if (url.option("ca") && url.option("ca")->empty())
        return unusable(url, "ca is empty; it is the path of a file with certificates in PEM format.");
    options.ca_file = url.option("ca").value_or("");

    options.ours = {url.option("cert").value_or(""), url.option("key").value_or("")};
    if (!url.option("cert") && !url.option("key"))
        return options;
    if (options.ours.certificate.empty() || options.ours.key.empty())
        return unusable(url, fmt::format("it has {0} and no {1}. cert is the path of our certificate and key that of "
                                         "its private key, both in PEM format; where one file holds both, name it "
                                         "twice.",
                                         options.ours.key.empty() ? "cert" : "key",
                                         options.ours.key.empty() ? "key" : "cert"));
    if (Status checked = base::check(options.ours); !checked.ok())
        return unusable(url, checked.error().message);
    return options;
}

}  // namespace hearth::remotes
