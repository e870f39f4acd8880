"""A port of this machine for a server that a test starts."""

import random
import socket


def free_port():
    """Below those that the system gives to whoever connects: it might give one away before the server has taken it."""
    while True:
        port = random.randrange(10_000, 32_768)
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
