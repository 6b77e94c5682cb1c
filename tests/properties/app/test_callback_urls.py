"""The quick look at a callback URL judges as the thorough one does."""

from hypothesis import example, given
from hypothesis import strategies as st

from heliograph.app.sending.callback_url import _PLAIN_URL, split_url

pieces = st.sampled_from(
    ["http://", "https://", "HTTP://", "a.example", "127.0.0.1", "[::1]", ":80", ":0", ":99999", ":", "/", "/cb", "?",
     "s=1", "&t=a:b", "%20", "%", "#", "@", "user:pw@", " ", "\\", "é", "..", "//", "-"]
)  # fmt: skip
urls = st.lists(pieces, max_size=8).map("".join) | st.from_regex(r"https?://[ -~]{0,30}", fullmatch=True)


@given(urls)
@example("http://a.example:80/cb?s=1&t=a:b")
@example("https://a.example?x")
@example("http://a.example:0/")
def test_only_the_origin_of_a_plain_url_can_be_wrong(url: str) -> None:
    plain = _PLAIN_URL(url)
    if plain is not None:
        assert split_url(url) == split_url(plain[1])
