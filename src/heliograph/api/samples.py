"""Programs that call an operation, for the document and its page, in five languages."""

import json
import shlex
from collections.abc import Callable
from textwrap import indent
from typing import Any, NamedTuple
from urllib.parse import urlencode

Json = Any


class ShownCall(NamedTuple):
    """A request in a sample. `user` and `secret` are empty if the operation takes no credentials."""

    method: str
    url: str
    query: dict[str, Any]
    user: str
    secret: str
    body: dict[str, Json] | None
    """Sent as JSON."""
    form: dict[str, Json] | None
    """Sent as a form by the second command of curl."""
    is_file: bool
    """Whether the answer is a file, such as CSV, instead of JSON."""

    @property
    def whole_url(self) -> str:
        return f"{self.url}?{urlencode(self.query)}" if self.query else self.url


class ShownProgram(NamedTuple):
    language: str
    """The name in Redoc and similar tools."""
    label: str
    source: str


def programs(call: ShownCall) -> list[ShownProgram]:
    return [
        *(ShownProgram("Shell", "curl", command) for command in _curl(call)),
        *(ShownProgram(language, language, write(call)) for language, write in _WRITERS.items()),
    ]


def _curl(call: ShownCall) -> list[str]:
    """With a body: a command with JSON and a command with a form."""
    who = f" -u {call.user}:{call.secret}" if call.user else ""
    usual = "GET" if call.body is None else "POST"
    method = f" -X {call.method}" if call.method != usual else ""
    begin = f"curl{who}{method} {shlex.quote(call.whole_url)}"
    if call.body is None or call.form is None:
        return [begin]
    body = json.dumps(call.body, ensure_ascii=False)
    fields = [f"     --data-urlencode {shlex.quote(f'{name}={value}')}" for name, value in call.form.items()]
    return [
        f"{begin} \\\n     -H 'Content-Type: application/json' \\\n     -d {shlex.quote(body)}",
        f"{begin} \\\n" + " \\\n".join(fields),
    ]


def _python(call: ShownCall) -> str:
    lines = [f"    {json.dumps(call.whole_url)},"]
    if call.user:
        lines.append(f"    auth=({json.dumps(call.user)}, {json.dumps(call.secret)}),")
    if call.body is not None:
        lines.append(f"    json={_literal(call.body, _PYTHON)},")
    lines.append("    timeout=30,")
    inner = "\n".join(lines)
    return f"""\
import requests

answer = requests.{call.method.lower()}(
{inner}
)
print(answer.status_code, {"answer.text" if call.is_file else "answer.json()"})"""


def _javascript(call: ShownCall) -> str:
    headers = []
    if call.user:
        headers.append(f'    Authorization: "Basic " + btoa({json.dumps(f"{call.user}:{call.secret}")}),')
    if call.body is not None:
        headers.append('    "Content-Type": "application/json",')
    lines = [f"  method: {json.dumps(call.method)},"]
    if headers:
        lines += ["  headers: {", *headers, "  },"]
    if call.body is not None:
        lines.append(f"  body: JSON.stringify({_literal(call.body, _JAVASCRIPT)}),")
    inner = "\n".join(lines)
    return f"""\
const answer = await fetch({json.dumps(call.whole_url)}, {{
{inner}
}});
console.log(answer.status, await answer.{"text" if call.is_file else "json"}());"""


def _php(call: ShownCall) -> str:
    lines = [f"    CURLOPT_CUSTOMREQUEST => {_php_text(call.method)},"]
    if call.user:
        lines.append(f"    CURLOPT_USERPWD => {_php_text(f'{call.user}:{call.secret}')},")
    if call.body is not None:
        lines.append("    CURLOPT_HTTPHEADER => ['Content-Type: application/json'],")
        lines.append(f"    CURLOPT_POSTFIELDS => json_encode({_literal(call.body, _PHP)}),")
    lines.append("    CURLOPT_RETURNTRANSFER => true,")
    inner = "\n".join(lines)
    return f"""\
<?php
$call = curl_init({_php_text(call.whole_url)});
curl_setopt_array($call, [
{inner}
]);
$answer = curl_exec($call);
echo curl_getinfo($call, CURLINFO_RESPONSE_CODE), ' ', $answer, "\\n";"""


def _java(call: ShownCall) -> str:
    lines = [f"HttpRequest.newBuilder(URI.create({json.dumps(call.whole_url)}))"]
    if call.user:
        credentials = json.dumps(f"{call.user}:{call.secret}")
        lines.append(
            f'    .header("Authorization", "Basic " + Base64.getEncoder().encodeToString({credentials}.getBytes()))'
        )
    publisher = "HttpRequest.BodyPublishers.noBody()"
    if call.body is not None:
        lines.append('    .header("Content-Type", "application/json")')
        body = json.dumps(call.body, ensure_ascii=False, indent=2).replace("\\", "\\\\")
        publisher = f'HttpRequest.BodyPublishers.ofString("""\n{indent(body, "        ")}""")'
    lines.append(f"    .method({json.dumps(call.method)}, {publisher})")
    lines.append("    .build();")
    request = indent("\n".join(lines), "        ").strip()
    return f"""\
import java.net.URI;
import java.net.http.*;
import java.util.Base64;

public class Sample {{
    public static void main(String[] arguments) throws Exception {{
        var request = {request}
        var answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        System.out.println(answer.statusCode() + " " + answer.body());
    }}
}}"""


_WRITERS: dict[str, Callable[[ShownCall], str]] = {
    "Python": _python, "JavaScript": _javascript, "PHP": _php, "Java": _java,
}  # fmt: skip


# --- literals


class _Notation(NamedTuple):
    """A language's notation of an object: its indentation, its brackets, and the separator between a name and its
    value.
    """

    step: str
    opening: str
    closing: str
    between: str
    text: Callable[[str], str]
    words: dict[Json, str]


def _php_text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _json_text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


_PYTHON = _Notation(4 * " ", "{", "}", ": ", _json_text, {True: "True", False: "False"})
_JAVASCRIPT = _Notation(2 * " ", "{", "}", ": ", _json_text, {True: "true", False: "false"})
_PHP = _Notation(4 * " ", "[", "]", " => ", _php_text, {True: "true", False: "false"})


def _literal(body: dict[str, Json], notation: _Notation) -> str:
    """Returns the body as a literal of the language, a field on each line, indented by a step."""
    fields = [
        f"{2 * notation.step}{notation.text(name)}{notation.between}{_value(value, notation)},"
        for name, value in body.items()
    ]
    return "\n".join([notation.opening, *fields, notation.step + notation.closing])


def _value(value: Json, notation: _Notation) -> str:
    if isinstance(value, bool):
        return notation.words[value]
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(_value(each, notation) for each in value)}]"
    return notation.text(value)
