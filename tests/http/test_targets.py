import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.http.targets import (
    MalformedTarget,
    Target,
    gateway_form,
    is_address,
    is_loopback,
    parse_authority,
    parse_gateway,
    parse_host,
    parse_target,
    resolve,
)

# received, canonical
HOSTS = {
    "plain": ("example.com", "example.com"),
    "upper-case": ("EXAMPLE.com", "example.com"),
    "trailing-dot": ("example.com.", "example.com"),
    "upper-case-trailing-dot": ("EXAMPLE.com.", "example.com"),
    "percent-encoded-letter": ("ex%61mple.com", "example.com"),
    "percent-encoded-capital": ("%45xample.com", "example.com"),
    "single-label": ("localhost", "localhost"),
    "underscore": ("_agent.example.com", "_agent.example.com"),
    "percent-encoded-u-label": ("b%C3%BCcher.example", "xn--bcher-kva.example"),
    "percent-encoded-u-label-capital": ("B%c3%9ccher.example", "xn--bcher-kva.example"),
    "underscore-beside-u-label": ("_agent.b%C3%BCcher.example", "_agent.xn--bcher-kva.example"),
    "a-label": ("XN--bcher-kva.example", "xn--bcher-kva.example"),
    "a-label-outside-idna2008": ("xn--ls8h.example", "xn--ls8h.example"),
    "ideographic-full-stop": ("example%E3%80%82com", "example.com"),
    "ideographic-trailing-dot": ("example.com%E3%80%82", "example.com"),
    "ipv4": ("127.0.0.1", "127.0.0.1"),
    "ipv4-trailing-dot": ("127.0.0.1.", "127.0.0.1"),
    "ipv6": ("[::1]", "::1"),
    "ipv6-long": ("[2001:DB8:0:0:0:0:0:1]", "2001:db8::1"),
    "digits-not-last": ("1.2.3.4.example", "1.2.3.4.example"),
    "hex-look-alike": ("0xg", "0xg"),
    "label-63": ("a" * 63 + ".example", "a" * 63 + ".example"),
    "name-253": (".".join(["a" * 63] * 3 + ["b" * 61]), ".".join(["a" * 63] * 3 + ["b" * 61])),
    "name-253-trailing-dot": (
        ".".join(["a" * 63] * 3 + ["b" * 61, ""]),
        ".".join(["a" * 63] * 3 + ["b" * 61]),
    ),
}

MALFORMED_HOSTS = {
    "empty": "",
    "dot": ".",
    "two-trailing-dots": "example.com..",
    "empty-label": "a..example",
    "leading-dot": ".example.com",
    "label-64": "a" * 64 + ".example",
    "name-254": ".".join(["a" * 63] * 3 + ["b" * 62]),
    "u-label-too-long": "%C3%BC" * 64 + ".example",
    "brackets-around-name": "[example.com]",
    "brackets-around-ipv4": "[127.0.0.1]",
    "brackets-empty": "[]",
    "ipv-future": "[v1.fe]",
    "ipv6-zone": "[fe80::1%25eth0]",
    "ipv6-encoded": "[%3A%3A1]",
    "integer": "2130706433",
    "zero": "0",
    "hex": "0x7f000001",
    "hex-capital": "0X7F000001",
    "hex-empty": "0x",
    "octal-part": "0177.0.0.1",
    "leading-zero": "127.0.0.01",
    "hex-part": "0x7f.0.0.1",
    "hex-last-part": "127.0.0.0x1",
    "two-parts": "127.1",
    "three-parts": "127.0.1",
    "five-parts": "1.2.3.4.5",
    "part-over-255": "256.0.0.1",
    "name-ending-numeric": "example.1",
    "integer-trailing-dot": "2130706433.",
    "percent-encoded-ipv4": "%31%32%37.0.0.1",
    "percent-encoded-integer": "%32130706433",
    "full-width-letters": "%EF%BD%85xample.com",
    "full-width-digits": "%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1",
    "circled-digits": "%E2%91%A0%E2%91%A1%E2%91%A6.%E2%93%AA.%E2%93%AA.%E2%91%A0",
    "full-width-dots": "127%EF%BC%8E0%EF%BC%8E0%EF%BC%8E1",
    "ideographic-dots": "127%E3%80%820%E3%80%820%E3%80%821",
    "soft-hyphen-in-ipv4": "127%C2%AD.0.0.1",
    "full-width-hex": "%EF%BC%90x7f000001",
    "only-ignored-characters": "%C2%AD",
    "full-width-slash": "a%EF%BC%8Fb.example",
    "full-width-percent": "a%EF%BC%8561.example",
    "account-of": "%E2%84%80.example",
    "disallowed-by-idna": "%F0%9F%92%A9.example",
    "encoded-slash": "example.com%2Fx",
    "encoded-at": "user%40example.com",
    "encoded-colon": "example.com%3A80",
    "encoded-nul": "example.com%00",
    "encoded-space": "%20example.com",
    "encoded-percent": "ex%2561mple.com",
    "not-utf-8": "%FF.example",
    "sub-delim": "a+b.example",
}


@pytest.mark.parametrize(("received", "canonical"), HOSTS.values(), ids=HOSTS)
def test_a_host_has_one_spelling(received: str, canonical: str) -> None:
    assert parse_authority(received, 443) == (canonical, 443)
    assert parse_target(f"https://{received}/x").host == canonical
    gateway = parse_gateway(f"/https/{received}/x")
    assert gateway is not None
    assert gateway.host == canonical
    assert parse_host(received) == canonical


@pytest.mark.parametrize("host", MALFORMED_HOSTS.values(), ids=MALFORMED_HOSTS)
def test_a_malformed_host_is_malformed_in_every_form(host: str) -> None:
    for parse in (
        parse_host,
        lambda text: parse_authority(text, 443),
        lambda text: parse_authority(f"{text}:8443", 443),
        lambda text: parse_target(f"https://{text}/x"),
        lambda text: parse_gateway(f"/https/{text}/x"),
    ):
        with pytest.raises(MalformedTarget):
            parse(host)


@pytest.mark.parametrize(
    ("received", "canonical"),
    [
        pytest.param("bücher.example", "xn--bcher-kva.example", id="u-label"),
        pytest.param("faß.example", "xn--fa-hia.example", id="non-transitional"),
        pytest.param("b%C3%BCché.example", "xn--bch-dma6g.example", id="raw-beside-encoded"),
        pytest.param("EXAMPLE\u3002com", "example.com", id="ideographic-full-stop"),
        pytest.param("\uff11\uff12\uff17.0.0.1", None, id="full-width-digits"),
        pytest.param("\u2460\u2461\u2466.\u24ea.\u24ea.\u2460", None, id="circled-digits"),
        pytest.param("ex%zzmple.com", None, id="malformed-percent-encoding"),
        pytest.param("\udcff.example", None, id="undecodable-octet"),
        pytest.param("\udcff%61.example", None, id="undecodable-octet-beside-encoded"),
        pytest.param("ü" * 2000, None, id="too-long-for-idna"),
        pytest.param("[::1", None, id="bracket-not-closed"),
        pytest.param("[", None, id="bracket-alone"),
        pytest.param("::1", None, id="ipv6-without-brackets"),
    ],
)
def test_parse_host_takes_what_people_type(received: str, canonical: str | None) -> None:
    if canonical is None:
        with pytest.raises(MalformedTarget):
            parse_host(received)
    else:
        assert parse_host(received) == canonical


# canonical host, is an address, is loopback
KINDS = {
    "name": ("example.com", False, False),
    "localhost": ("localhost", False, True),
    "name-of-digits-and-letters": ("127.example", False, False),
    "ipv4": ("192.0.2.1", True, False),
    "ipv4-loopback": ("127.8.9.10", True, True),
    "ipv4-unspecified": ("0.0.0.0", True, False),
    "ipv6": ("2001:db8::1", True, False),
    "ipv6-loopback": ("::1", True, True),
    "ipv6-zone": ("fe80::1%lo", True, False),
    "empty": ("", False, False),
}


@pytest.mark.parametrize(("host", "address", "loopback"), KINDS.values(), ids=KINDS)
def test_kind_of_a_host(host: str, address: bool, loopback: bool) -> None:
    assert (is_address(host), is_loopback(host)) == (address, loopback)


@pytest.mark.parametrize(
    ("authority", "expected"),
    [
        pytest.param("example.com", ("example.com", 443), id="default-port"),
        pytest.param("example.com:1", ("example.com", 1), id="lowest-port"),
        pytest.param("example.com:65535", ("example.com", 65535), id="highest-port"),
        pytest.param("EXAMPLE.com.:8443", ("example.com", 8443), id="canonical-with-port"),
        pytest.param("[::1]:8080", ("::1", 8080), id="ipv6-port"),
    ],
)
def test_parse_authority(authority: str, expected: tuple[str, int]) -> None:
    assert parse_authority(authority, 443) == expected


@pytest.mark.parametrize(
    ("authority", "detail"),
    [
        pytest.param("example.com:", "port", id="port-empty"),
        pytest.param("example.com:0", "port", id="port-zero"),
        pytest.param("example.com:65536", "port", id="port-too-high"),
        pytest.param("example.com:0443", "port", id="port-leading-zero"),
        pytest.param("example.com:+443", "port", id="port-sign"),
        pytest.param("example.com:443x", "port", id="port-trailing-text"),
        pytest.param("example.com:%34", "port", id="port-encoded"),
        pytest.param("::1", "host", id="ipv6-without-brackets"),
        pytest.param(":443", "host", id="host-empty"),
        pytest.param("[::1]443", "bracket", id="text-after-bracket"),
        pytest.param("x[::1]", "bracket", id="text-before-bracket"),
        pytest.param("[::1", "bracket", id="bracket-not-closed"),
        pytest.param("::1]", "host", id="bracket-not-opened"),
        pytest.param("[::1]:", "port", id="ipv6-port-empty"),
        pytest.param("[fe80::1%25eth0]:80", "zone", id="ipv6-zone"),
        pytest.param("user@example.com", "userinfo", id="user"),
        pytest.param("user:secret@example.com:443", "userinfo", id="user-and-password"),
        pytest.param("@example.com", "userinfo", id="userinfo-empty"),
        pytest.param("example.com/x", "host", id="path"),
        pytest.param("example.com :443", "character", id="space"),
        pytest.param("example.com:443\r\n", "character", id="line-end"),
        pytest.param("bücher.example", "character", id="raw-u-label"),
        pytest.param("example.com:\uff14\uff14\uff13", "character", id="full-width-port"),
        pytest.param("ex%6mple.com", "percent-encoding", id="malformed-percent-encoding"),
    ],
)
def test_malformed_authority(authority: str, detail: str) -> None:
    with pytest.raises(MalformedTarget) as raised:
        parse_authority(authority, 443)
    assert detail in raised.value.detail
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("uri", "target"),
    [
        pytest.param("https://example.com/x", Target("https", "example.com", 443, "/x", None), id="https"),
        pytest.param("http://example.com/x", Target("http", "example.com", 80, "/x", None), id="http"),
        pytest.param("HTTPS://EXAMPLE.com/X", Target("https", "example.com", 443, "/X", None), id="case"),
        pytest.param("https://example.com:443/", Target("https", "example.com", 443, "/", None), id="default"),
        pytest.param("http://example.com:443/", Target("http", "example.com", 443, "/", None), id="other-port"),
        pytest.param("https://example.com", Target("https", "example.com", 443, "/", None), id="no-path"),
        pytest.param(
            "https://example.com?a=b", Target("https", "example.com", 443, "/", "a=b"), id="no-path-query"
        ),
        pytest.param("https://example.com/?", Target("https", "example.com", 443, "/", ""), id="query-empty"),
        pytest.param(
            "https://example.com/x?a?b/../c",
            Target("https", "example.com", 443, "/x", "a?b/../c"),
            id="query",
        ),
        pytest.param(
            "https://example.com//a//b/", Target("https", "example.com", 443, "//a//b/", None), id="slashes"
        ),
        pytest.param(
            "https://example.com/%7e%2F%c3",
            Target("https", "example.com", 443, "/%7e%2F%c3", None),
            id="untouched",
        ),
        pytest.param("https://example.com/...", Target("https", "example.com", 443, "/...", None), id="three-dots"),
        pytest.param(
            "https://example.com/.x/..y/z.",
            Target("https", "example.com", 443, "/.x/..y/z.", None),
            id="dots",
        ),
        pytest.param(
            "https://example.com/a|b{c}[d]^`",
            Target("https", "example.com", 443, "/a|b{c}[d]^`", None),
            id="lenient",
        ),
        pytest.param("https://[::1]:8080/x", Target("https", "::1", 8080, "/x", None), id="ipv6"),
        pytest.param(
            "https://example.com/a@b:c", Target("https", "example.com", 443, "/a@b:c", None), id="at-in-path"
        ),
    ],
)
def test_parse_target(uri: str, target: Target) -> None:
    assert parse_target(uri) == target
    assert parse_gateway(f"/{target.scheme}/{uri.partition('//')[2]}") == target


@pytest.mark.parametrize(
    ("tail", "detail"),
    [
        pytest.param("/%zz", "percent-encoding", id="not-hex"),
        pytest.param("/%4", "percent-encoding", id="incomplete"),
        pytest.param("/%", "percent-encoding", id="percent-alone"),
        pytest.param("/x?%4", "percent-encoding", id="incomplete-in-query"),
        pytest.param("/%%34%31", "percent-encoding", id="nested"),
        pytest.param("/a\x00b", "character", id="nul"),
        pytest.param("/a\r\nb", "character", id="line-end"),
        pytest.param("/x\n", "character", id="trailing-line-end"),
        pytest.param("/a\tb", "character", id="tab"),
        pytest.param("/a\x7fb", "character", id="delete"),
        pytest.param("/a b", "character", id="space"),
        pytest.param("/x?a b", "character", id="space-in-query"),
        pytest.param("/ü", "character", id="non-ascii"),
        pytest.param("/\udcff", "character", id="undecodable-octet"),
        pytest.param("/a\\b", "character", id="backslash"),
        pytest.param("\\x", "character", id="backslash-in-authority"),
        pytest.param('/a"b', "character", id="double-quote"),
        pytest.param("/a<b", "character", id="less-than"),
        pytest.param("/x?a>b", "character", id="greater-than"),
        pytest.param("/.", "dot segment", id="dot"),
        pytest.param("/..", "dot segment", id="two-dots"),
        pytest.param("/a/./b", "dot segment", id="dot-inside"),
        pytest.param("/a/../b", "dot segment", id="two-dots-inside"),
        pytest.param("/a/..?q", "dot segment", id="two-dots-before-query"),
        pytest.param("/%2e", "dot segment", id="encoded-dot"),
        pytest.param("/a/%2e%2E/b", "dot segment", id="encoded-two-dots"),
        pytest.param("/a/.%2E/b", "dot segment", id="half-encoded"),
        pytest.param("/a/%2e./b", "dot segment", id="other-half-encoded"),
        pytest.param("/x#y", "fragment", id="fragment"),
        pytest.param("#y", "fragment", id="fragment-after-authority"),
        pytest.param("?x#y", "fragment", id="fragment-after-query"),
    ],
)
def test_malformed_path_or_query(tail: str, detail: str) -> None:
    for parse, prefix in ((parse_target, "https://example.com"), (parse_gateway, "/https/example.com")):
        with pytest.raises(MalformedTarget) as raised:
            parse(f"{prefix}{tail}")
        assert raised.value.detail == str(raised.value)
        assert detail in raised.value.detail


@pytest.mark.parametrize(
    "uri",
    [
        pytest.param("", id="empty"),
        pytest.param("/x", id="origin-form"),
        pytest.param("*", id="asterisk-form"),
        pytest.param("example.com:443", id="authority-form"),
        pytest.param("//example.com/x", id="no-scheme"),
        pytest.param("ftp://example.com/x", id="other-scheme"),
        pytest.param("wss://example.com/x", id="websocket-scheme"),
        pytest.param("http\u017f://example.com/x", id="long-s-in-scheme"),
        pytest.param("https:/example.com/x", id="one-slash"),
        pytest.param("https:example.com", id="no-slash"),
        pytest.param("https://", id="no-authority"),
        pytest.param("https:///x", id="authority-empty"),
        pytest.param(" https://example.com/", id="leading-space"),
        pytest.param("https://user@example.com/", id="userinfo"),
    ],
)
def test_not_an_absolute_target(uri: str) -> None:
    with pytest.raises(MalformedTarget):
        parse_target(uri)


@pytest.mark.parametrize(
    "request_target",
    [
        pytest.param("/", id="root"),
        pytest.param("*", id="asterisk-form"),
        pytest.param("/v1/discover/example.com", id="api"),
        pytest.param("/httpsx/example.com/", id="longer-segment"),
        pytest.param("/https:/example.com/", id="colon"),
        pytest.param("/HTTPS/example.com/", id="case-matters-in-a-path"),
        pytest.param("/ftp/example.com/", id="other-scheme"),
        pytest.param("/x/%zz/../#", id="malformed-otherwise"),
        pytest.param("https://example.com/", id="absolute-form"),
        pytest.param("/x/https/example.com/", id="not-first"),
    ],
)
def test_not_gateway_form(request_target: str) -> None:
    assert parse_gateway(request_target) is None


@pytest.mark.parametrize(
    "request_target",
    [
        pytest.param("/https", id="scheme-alone"),
        pytest.param("/http", id="http-alone"),
        pytest.param("/https/", id="authority-empty"),
        pytest.param("/https?x", id="query-after-scheme"),
        pytest.param("/https#x", id="fragment-after-scheme"),
        pytest.param("/https//x", id="authority-empty-with-path"),
        pytest.param("/https/?x", id="authority-empty-with-query"),
        pytest.param("/https/user:secret@example.com/", id="userinfo"),
    ],
)
def test_gateway_form_without_an_authority(request_target: str) -> None:
    with pytest.raises(MalformedTarget):
        parse_gateway(request_target)


@pytest.mark.parametrize("request_target", ["/https", "/https/", "/https//x", "/https?x"])
def test_gateway_form_without_a_host_says_how_to_write_it(request_target: str) -> None:
    with pytest.raises(MalformedTarget) as caught:
        parse_gateway(request_target)
    assert caught.value.detail == "Write the host after the scheme: /https/HOST/PATH."


@pytest.mark.parametrize(
    ("uri", "authority", "origin", "request_target", "canonical_uri", "gateway"),
    [
        pytest.param(
            "HTTPS://Example.com.:443/X?y",
            "example.com",
            "https://example.com",
            "/X?y",
            "https://example.com/X?y",
            "/https/example.com/X?y",
            id="default-port",
        ),
        pytest.param(
            "https://example.com:8443",
            "example.com:8443",
            "https://example.com:8443",
            "/",
            "https://example.com:8443/",
            "/https/example.com:8443/",
            id="other-port",
        ),
        pytest.param(
            "http://[0:0::1]:8080/?",
            "[::1]:8080",
            "http://[::1]:8080",
            "/?",
            "http://[::1]:8080/?",
            "/http/[::1]:8080/?",
            id="ipv6",
        ),
        pytest.param(
            "http://[::1]/",
            "[::1]",
            "http://[::1]",
            "/",
            "http://[::1]/",
            "/http/[::1]/",
            id="ipv6-default-port",
        ),
    ],
)
def test_spellings_of_a_target(
    uri: str, authority: str, origin: str, request_target: str, canonical_uri: str, gateway: str
) -> None:
    target = parse_target(uri)
    assert target.authority == authority
    assert target.origin == origin
    assert target.request_target == request_target
    assert target.uri == canonical_uri
    assert gateway_form(target) == gateway


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        pytest.param("/plain/Path", "/plain/Path", id="nothing-to-do"),
        pytest.param("/%61%5A%30%2d%5f%7e%2E%2Ea", "/aZ0-_~..a", id="unreserved-decoded"),
        pytest.param("/%2f%3a%c3%bc", "/%2F%3A%C3%BC", id="others-upper-case"),
        pytest.param("/%2561", "/%2561", id="decoded-once"),
        pytest.param("/%25%36%31", "/%2561", id="no-new-encoding"),
    ],
)
def test_normal_path(path: str, normal: str) -> None:
    assert Target("https", "example.com", 443, path, None).normal_path == normal


BASE = Target("http", "a", 80, "/b/c/d;p", "q")

# RFC 3986 §5.4.1 and §5.4.2, fragments dropped, then cases of our own.
REFERENCES = {
    "g": "http://a/b/c/g",
    "./g": "http://a/b/c/g",
    "g/": "http://a/b/c/g/",
    "/g": "http://a/g",
    "//g": "http://g/",
    "?y": "http://a/b/c/d;p?y",
    "g?y": "http://a/b/c/g?y",
    "#s": "http://a/b/c/d;p?q",
    "g#s": "http://a/b/c/g",
    "g?y#s": "http://a/b/c/g?y",
    ";x": "http://a/b/c/;x",
    "g;x": "http://a/b/c/g;x",
    "": "http://a/b/c/d;p?q",
    ".": "http://a/b/c/",
    "./": "http://a/b/c/",
    "..": "http://a/b/",
    "../": "http://a/b/",
    "../g": "http://a/b/g",
    "../..": "http://a/",
    "../../": "http://a/",
    "../../g": "http://a/g",
    "../../../g": "http://a/g",
    "../../../../g": "http://a/g",
    "/./g": "http://a/g",
    "/../g": "http://a/g",
    "g.": "http://a/b/c/g.",
    ".g": "http://a/b/c/.g",
    "g..": "http://a/b/c/g..",
    "..g": "http://a/b/c/..g",
    "./../g": "http://a/b/g",
    "./g/.": "http://a/b/c/g/",
    "g/./h": "http://a/b/c/g/h",
    "g/../h": "http://a/b/c/h",
    "g;x=1/./y": "http://a/b/c/g;x=1/y",
    "g;x=1/../y": "http://a/b/c/y",
    "g?y/./x": "http://a/b/c/g?y/./x",
    "g?y/../x": "http://a/b/c/g?y/../x",
    "https://h/x": "https://h/x",
    "HTTPS://H.:8443/a/../b/..": "https://h:8443/",
    "https://h": "https://h/",
    "https://h?x": "https://h/?x",
    "//h:8080/x?y#z": "http://h:8080/x?y",
    "%2e%2E/g": "http://a/b/g",
    ".%2e/%2e/g": "http://a/b/g",
    "g/%2e": "http://a/b/c/g/",
    "g//../h": "http://a/b/c/g/h",
    "/..//h": "http://a//h",
    "?": "http://a/b/c/d;p?",
    "g?": "http://a/b/c/g?",
    "g?a:b": "http://a/b/c/g?a:b",
    "./a:b": "http://a/b/c/a:b",
    "/a:b": "http://a/a:b",
    ":g": "http://a/b/c/:g",
    "g#a b\\%zz": "http://a/b/c/g",
}


@pytest.mark.parametrize(("reference", "uri"), REFERENCES.items(), ids=REFERENCES)
def test_resolve(reference: str, uri: str) -> None:
    resolved = resolve(BASE, reference)
    assert resolved.uri == uri
    assert parse_target(resolved.uri) == resolved


@pytest.mark.parametrize(
    "reference",
    [
        "g:h",
        "http:g",
        "https:/g",
        "ftp://h/x",
        "javascript:alert(1)",
        "//",
        "///x",
        "//user@h/x",
        "//[h]/x",
        "//h:0/x",
        "//2130706433/x",
        "\\\\h\\x",
        "/a b",
        "?a b",
        " g",
        "g\r\n",
        "/ü",
        "/%zz",
    ],
)
def test_unusable_references(reference: str) -> None:
    with pytest.raises(MalformedTarget):
        resolve(BASE, reference)


labels = st.from_regex(r"[a-zA-Z0-9_-]{1,10}", fullmatch=True)
hosts = st.one_of(
    st.lists(labels, min_size=1, max_size=4).map(lambda parts: ".".join([*parts, "Example"])),
    st.ip_addresses(v=4).map(str),
    st.ip_addresses(v=6).map(lambda address: f"[{address}]"),
)
paths = st.from_regex(r"(/([a-zA-Z0-9~!$&'()*+,;=:@-]|%[0-9a-fA-F]{2}){1,4}\.?x?){0,4}", fullmatch=True)
queries = st.from_regex(r"(\?([a-zA-Z0-9/?=&.]|%[0-9a-fA-F]{2})*)?", fullmatch=True)
ports = st.one_of(st.just(""), st.integers(1, 65535).map(lambda port: f":{port}"))
uris = st.builds("{}://{}{}{}{}".format, st.sampled_from(["http", "HTTPS"]), hosts, ports, paths, queries)


@given(uris)
@settings(max_examples=100)
def test_targets_round_trip(uri: str) -> None:
    try:
        target = parse_target(uri)
    except MalformedTarget as malformed:
        assert malformed.detail == "The path has a dot segment: write it without . and .. segments."
        return
    assert parse_target(target.uri) == target
    assert parse_gateway(gateway_form(target)) == target
    assert parse_authority(target.authority, target.port) == (target.host, target.port)
    normal = Target(target.scheme, target.host, target.port, target.normal_path, target.query)
    assert normal.normal_path == normal.path
    assert resolve(BASE, target.uri) == target


@given(st.text(max_size=30))
@settings(max_examples=100)
def test_any_text_parses_or_is_malformed(text: str) -> None:
    for parse in (parse_host, parse_target, parse_gateway, lambda reference: resolve(BASE, reference)):
        for candidate in (text, f"https://{text}", f"/https/{text}", f"https://{text.encode().hex('%')}"):
            try:
                parsed = parse(candidate)
            except MalformedTarget:
                continue
            if isinstance(parsed, Target):
                assert parse_target(parsed.uri) == parsed
