// Keys as people keep them: a line of text in a file.

#include "hearth/trust.hpp"

#include "base/ed25519.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/hex.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <span>

namespace hearth {

namespace {

constexpr std::string_view k_public = "ed25519:";
constexpr std::string_view k_secret = "ed25519-secret:";
constexpr std::uint64_t k_largest_key_file = 1_MiB;
constexpr unsigned k_others = 077;

// The next line, without what follows a '#'.
std::string_view take_line(std::string_view& text)
{
    const std::string_view line = base::take_until('\n', text);
    return base::trimmed(line.substr(0, line.find('#')));
}

Error no_secret(const std::string& path, std::string_view why)
{
    // The message does not show what the file holds: that may be the key with a typing error in it.
    return error(Code::invalid_argument, "{} is no signing key: {}. `hearth keygen` makes one.", path, why);
}

}  // namespace

std::string PublicKey::text() const
{
    return std::string(k_public) + base::to_hex(std::as_bytes(std::span(bytes)));
}

Result<PublicKey> PublicKey::parse(std::string_view text)
{
    PublicKey key;
    if (!text.starts_with(k_public) || !base::from_hex(text.substr(k_public.size()), key.bytes))
        return error(Code::invalid_argument, "{}",
                     text.starts_with(k_secret)
                         ? std::string("This is a signing key, which must not be handed around. Its public key is what "
                                       "`hearth keygen` printed.")
                         : fmt::format("\"{}\" is no public key: it is \"ed25519:\" and 64 hexadecimal digits.",
                                       text.substr(0, 80)));
    return key;
}

Result<SigningKey> SigningKey::generate()
{
    SigningKey key;
    const std::optional<base::Ed25519Secret> secret = base::ed25519_generate();
    const std::optional<base::Ed25519Public> shown = secret ? base::ed25519_public_of(*secret) : std::nullopt;
    if (!shown)
        return error(Code::unavailable, "This machine's OpenSSL cannot make Ed25519 keys. Install OpenSSL 3.");
    key.m_secret = *secret;
    key.m_public.bytes = *shown;
    return key;
}

Result<SigningKey> SigningKey::load(const std::string& path)
{
    // A variable of a build system often holds the key itself, where a file was meant.
    if (path.starts_with(k_secret))
        return no_secret("What is given", "the key itself was given, and not the path of its file");
    base::Files& files = base::system_files();
    base::FileStat stat;
    if (const int error = files.stat(path.c_str(), stat); error != 0)
        return no_secret(path, base::describe("stat", path, error));
    if ((stat.mode & k_others) != 0)
        return no_secret(path,
                         fmt::format("others can read it (mode {:o}); chmod 600 it, and make a new one if they may "
                                     "have",
                                     stat.mode & 0777U));
    int error = 0;
    const Bytes bytes = base::read_file(files, path.c_str(), k_largest_key_file, error);
    if (error != 0)
        return no_secret(path, base::describe("read", path, error));
    std::string_view text = bytes.text();
    const std::string_view line = take_line(text);
    SigningKey key;
    if (!line.starts_with(k_secret) || !base::from_hex(line.substr(k_secret.size()), key.m_secret))
        return no_secret(path, "its first line is not \"ed25519-secret:\" and 64 hexadecimal digits");
    const std::optional<base::Ed25519Public> shown = base::ed25519_public_of(key.m_secret);
    if (!shown)
        return hearth::error(Code::unavailable, "This machine's OpenSSL cannot use Ed25519 keys. Install OpenSSL 3.");
    key.m_public.bytes = *shown;
    return key;
}

Status SigningKey::save(const std::string& path) const
{
    base::Files& files = base::system_files();
    base::FileHandle file(files, files.open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600));
    if (!file.open())
        return error(Code::io, "{}",
                     file.error() == EEXIST
                         ? fmt::format("{} is there already, and is not overwritten. Choose another name.", path)
                         : base::describe("create", path, -file.error()));
    const std::string line = std::string(k_secret) + base::to_hex(std::as_bytes(std::span(m_secret))) + "\n";
    int error = base::write_all(files, file.fd(), as_bytes(line), 0);
    if (error == 0)
        error = files.sync(file.fd());
    if (error != 0)
        return hearth::error(Code::io, "{}", base::describe("write", path, error));
    return {};
}

Result<std::vector<PublicKey>> load_public_keys(const std::string& path)
{
    int error = 0;
    const Bytes bytes = base::read_file(base::system_files(), path.c_str(), k_largest_key_file, error);
    if (error != 0)
        return hearth::error(Code::io, "{}", base::describe("read", path, error));
    std::vector<PublicKey> keys;
    std::string_view rest = bytes.text();
    for (int number = 1; !rest.empty(); ++number) {
        const std::string_view line = take_line(rest);
        if (line.empty())
            continue;
        const Result<PublicKey> key = PublicKey::parse(line.substr(0, line.find_first_of(" \t")));
        if (!key)
            return hearth::error(key.error().code, "{}, line {}: {}", path, number, key.error().message);
        keys.push_back(*key);
    }
    return keys;
}

}  // namespace hearth
