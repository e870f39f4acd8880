#include "support/s3_server.hpp"

#include "support/tools.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace hearth::test {

namespace {

// Swift comes as four programs and wants memcached. One process starts in a quarter of the time, and needs no more
// ports than the one: the others are whichever are free, and are written into the rings.
constexpr const char* k_program = R"(
import socket
import sys
import warnings
from array import array

warnings.simplefilter('ignore')
from swift.common import utils

folder, port = sys.argv[1], int(sys.argv[2])
utils.set_swift_dir(folder)
utils.eventlet_monkey_patch()
import eventlet
import eventlet.wsgi
from swift.common import wsgi
from swift.common.ring import RingData
from swift.common.storage_policy import reload_storage_policies
from swift.common.swob import Request

reload_storage_policies()


class Cache:
    def __init__(self):
        self.held = {}

    def get(self, key, *_, **__):
        return self.held.get(key)

    def set(self, key, value, *_, **__):
        self.held[key] = value

    def delete(self, key, *_, **__):
        self.held.pop(key, None)


cache = Cache()


def listen(port):
    sock = eventlet.listen(('127.0.0.1', port), backlog=256)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def load(name):
    app = wsgi.loadapp('%s/%s-server.conf' % (folder, name), global_conf={'log_name': name})

    def cached(env, start):
        env['swift.cache'] = cache
        return app(env, start)
    return cached


def serve(sock, app):
    eventlet.wsgi.server(sock, app, utils.NullLogger(), protocol=wsgi.SwiftHttpProtocol,
                         capitalize_response_headers=False)


for name in ('account', 'container', 'object'):
    sock = listen(0)
    at = {'ip': '127.0.0.1', 'port': sock.getsockname()[1]}
    device = {'id': 0, 'region': 1, 'zone': 1, 'weight': 1.0, 'device': 'disk', 'meta': '', 'replication_ip': at['ip'],
              'replication_port': at['port'], **at}
    RingData([array('H', [0] * 4)], [device], 30).save('%s/%s.ring.gz' % (folder, name))
    eventlet.spawn(serve, sock, load(name))
proxy = load('proxy')
Request.blank('/v1/AUTH_test/kernels', {'REQUEST_METHOD': 'PUT', 'swift.authorize_override': True}).get_response(proxy)
serve(listen(port), proxy)
)";

void write_configuration(const ScratchDirectory& folder)
{
    write_file(folder / "swift.conf", "[swift-hash]\nswift_hash_path_prefix = hearth\nswift_hash_path_suffix = test\n"
                                      "[storage-policy:0]\nname = only\ndefault = yes\n");
    for (const char* name : {"account", "container", "object"})
        write_file(folder / (std::string(name) + "-server.conf"),
                   fmt::format("[DEFAULT]\nswift_dir = {0}\ndevices = {0}/disks\nmount_check = false\n"
                               "disable_fallocate = true\n[pipeline:main]\npipeline = {1}-server\n"
                               "[app:{1}-server]\nuse = egg:swift#{1}\n",
                               folder.path(), name));
    write_file(folder / "proxy-server.conf",
               fmt::format("[DEFAULT]\nswift_dir = {}\n"
                           "[pipeline:main]\npipeline = catch_errors s3api tempauth proxy-server\n"
                           "[app:proxy-server]\nuse = egg:swift#proxy\naccount_autocreate = true\n"
                           "[filter:catch_errors]\nuse = egg:swift#catch_errors\n"
                           "[filter:tempauth]\nuse = egg:swift#tempauth\nuser_test_tester = {} .admin\n"
                           "[filter:s3api]\nuse = egg:swift#s3api\nlocation = us-east-1\n",
                           folder.path(), S3Server::k_secret_key));
    std::filesystem::create_directories(folder / "disks/disk");
}

}  // namespace

std::unique_ptr<S3Server> S3Server::start()
{
    if (!has_command("swift-proxy-server") || ::access(k_system_python, X_OK) != 0)
        return nullptr;
    std::unique_ptr<S3Server> server(new S3Server);
    const ScratchDirectory& folder = server->m_folder;
    write_configuration(folder);
    write_file(folder / "server.py", k_program);  // not swift.py: it would import itself
    const auto command = [&](std::uint16_t port) { return server->command(port); };
    server->m_process = ServerProcess::at_a_free_port(command, folder / "swift.log", server->m_port);
    return server;
}

void S3Server::start_again()
{
    m_process = ServerProcess(command(m_port), m_folder / "swift.log");
}

std::vector<std::string> S3Server::command(std::uint16_t port) const
{
    return {k_system_python, m_folder / "server.py", m_folder.path(), std::to_string(port)};
}

}  // namespace hearth::test
