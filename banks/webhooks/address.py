"""Which addresses a webhook may reach: public ones, over https, and what the settings allow.

A name is resolved and every address it has is checked; the caller connects to one of those and does
not ask for the name again, so that it cannot mean one address here and another a moment later.
"""

import ipaddress
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import SplitResult, unquote, urlsplit

from django.conf import settings

from banks import errors, seams
from banks.store.redact import mask

URL_LENGTH = 2_000
_PORTS = {"https": 443, "http": 80}

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_FORBIDDEN: tuple[tuple[str, str], ...] = (
    ("0.0.0.0/8", "unspecified"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "shared by a provider"),
    ("127.0.0.0/8", "loopback"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "reserved"),
    ("192.0.2.0/24", "documentation"),
    ("192.88.99.0/24", "6to4"),
    ("192.168.0.0/16", "private"),
    ("198.18.0.0/15", "benchmarks"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved"),
    ("::/128", "unspecified"),
    ("::1/128", "loopback"),
    ("::ffff:0:0/96", "mapped IPv4"),
    ("64:ff9b::/96", "NAT64"),
    ("64:ff9b:1::/48", "NAT64"),
    ("100::/64", "discarded"),
    ("2001::/32", "Teredo"),
    ("2001::/23", "reserved"),
    ("2001:db8::/32", "documentation"),
    ("2002::/16", "6to4"),
    ("3fff::/20", "documentation"),
    ("fc00::/7", "private"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "private"),
    ("ff00::/8", "multicast"),
)
_FORBIDDEN_NETWORKS = tuple((ipaddress.ip_network(net), word) for net, word in _FORBIDDEN)
# All public IPv6 there is. What is not in it is refused, known to the table or not.
_PUBLIC_IPV6 = ipaddress.IPv6Network("2000::/3")


@dataclass(frozen=True, slots=True)
class Target:
    """Where a webhook is called; `path` holds the query too."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def host_header(self) -> str:
        """The value of `Host`: with the port unless it is the usual one."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return shown if self.port == _PORTS[self.scheme] else f"{shown}:{self.port}"


_PLAIN = "Plain http is refused: use https, or let the server reach the host (WEBHOOK_ALLOW)."


class RefusedError(Exception):
    """The address must not be reached. The message says why and names no address."""


class BadAllowanceError(ValueError):
    """An entry of WEBHOOK_ALLOW is neither host:port nor a network."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """What may be reached besides public addresses over https."""

    hosts: frozenset[tuple[str, int]] = frozenset()
    networks: tuple[Network, ...] = ()

    def has(self, address: Address) -> bool:
        """Whether a network of the list holds the address."""
        return any(address in net for net in self.networks if net.version == address.version)


@lru_cache(maxsize=8)
def allowed(entries: tuple[str, ...]) -> Allowed:
    """The list as settings have it. Raises BadAllowanceError."""
    hosts: set[tuple[str, int]] = set()
    networks: list[Network] = []
    for entry in entries:
        try:
            if "/" in entry:
                networks.append(ipaddress.ip_network(entry))
                continue
            parts = urlsplit(f"//{entry}")
            if not parts.hostname or not parts.port or parts.username is not None or parts.path:
                raise ValueError("no host:port")
            hosts.add((_host(parts.hostname), parts.port))
        except ValueError as error:
            raise BadAllowanceError("Use host:port or a network like 10.1.0.0/16.") from error
    return Allowed(frozenset(hosts), tuple(networks))


def target(url: str) -> Target:
    """The parts of an address. Raises AddressRefused for one that cannot be a webhook's."""
    if not url or len(url) > URL_LENGTH:
        raise errors.AddressRefused(f"Use an address of 1 to {URL_LENGTH} characters.")
    if any(not "\x21" <= each <= "\x7e" for each in url) or "\\" in url:
        raise errors.AddressRefused("Use printable ASCII characters; write others as %XX.")
    try:
        parts = urlsplit(url)
        port, host = parts.port, _host(parts.hostname or "")
    except ValueError as error:
        raise errors.AddressRefused("That is no address of the form https://host/path.") from error
    _check_form(parts, host, port)
    if any(mask(each).labels for each in _spellings(url)):
        raise errors.AddressRefused(
            "Put no secret into the address: the signature proves to the receiver who calls."
        )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, host, port or _PORTS[parts.scheme], path)


def _spellings(url: str) -> set[str]:
    """The address as it stands and as its receiver may read it."""
    plain = url
    while (read := unquote(plain)) != plain:
        plain = read
    return {url, unquote(url), plain, plain.replace("+", " ")}


def _check_form(parts: SplitResult, host: str, port: int | None) -> None:
    if parts.scheme not in _PORTS:
        raise errors.AddressRefused("Use an address that begins with https://.")
    if not host or port == 0:
        raise errors.AddressRefused("That is no address of the form https://host/path.")
    if "@" in parts.netloc:
        raise errors.AddressRefused("Put no name or password into the address.")
    if parts.fragment:
        raise errors.AddressRefused("Leave out the part behind #: it is never sent.")


def _host(name: str) -> str:
    """A host name as it is compared and sent. Raises ValueError (UnicodeError is one)."""
    if "%" in name:
        raise ValueError("an address of one interface")
    return name.lower().rstrip(".").encode("idna").decode("ascii")


def checked(where: Target) -> list[str]:
    """The addresses that may be connected to now, all of them checked.

    Raises RefusedError when any of them is forbidden, OSError when the name has none.
    """
    let = allowed(tuple(settings.WEBHOOK_ALLOW))
    found = seams.resolve(where.host, where.port)
    if (where.host, where.port) in let.hosts:
        return found
    for text in found:
        address = ipaddress.ip_address(text)
        if let.has(address):
            continue
        if where.scheme != "https":
            raise RefusedError(_PLAIN)
        word = forbidden(address)
        if word:
            raise RefusedError(f"The host has an address that is refused ({word}).")
    return found


def forbidden(address: Address) -> str:
    """Why an address is not one of the public internet, in a word; "" when it is."""
    for network, word in _FORBIDDEN_NETWORKS:
        if network.version == address.version and address in network:
            return word
    if address.version == 6 and address not in _PUBLIC_IPV6:
        return "reserved"
    return ""


def accept(url: str) -> None:
    """Refuse an address at the moment it is typed, as a delivery would later.

    A name that cannot be resolved now is taken: each delivery looks again. Raises AddressRefused.
    """
    where = target(url)
    try:
        checked(where)
    except RefusedError as error:
        raise errors.AddressRefused(str(error)) from error
    except (OSError, UnicodeError) as error:
        let = allowed(tuple(settings.WEBHOOK_ALLOW))
        if where.scheme != "https" and (where.host, where.port) not in let.hosts:
            raise errors.AddressRefused(_PLAIN) from error
