"""No test, and nothing a test starts, may reach another machine.

Python imports a module of this name at its start: the root conftest.py puts this folder on PYTHONPATH,
which binds kernels, servers and every other Python process of a test run.
"""

import socket
import sys

NAME_EVENTS = {"socket.getaddrinfo": 0, "socket.gethostbyname": 0}
ADDRESS_EVENTS = {"socket.connect": 1, "socket.sendto": 1, "socket.sendmsg": 1}
OWN_NAMES = {"", "localhost", "0.0.0.0", "::", "::1", socket.gethostname()}


def is_this_machine(host):
    """Whether `host`, a name or a number, as text or bytes or None, means this machine."""
    name = host.decode("utf-8", "replace") if isinstance(host, bytes) else host or ""
    return name in OWN_NAMES or name.startswith("127.")


def refuse(event, arguments):
    """Audit hook: OSError on a look-up of, or a connection to, any machine but this one."""
    if event in NAME_EVENTS:
        host = arguments[NAME_EVENTS[event]]
    elif event in ADDRESS_EVENTS and isinstance(arguments[ADDRESS_EVENTS[event]], tuple):
        host = arguments[ADDRESS_EVENTS[event]][0]  # other kinds of address are files, not machines
    else:
        return
    if not is_this_machine(host):
        raise OSError(f"Tests run offline, but this one asked for {host}: only this machine may be reached.")


sys.addaudithook(refuse)
