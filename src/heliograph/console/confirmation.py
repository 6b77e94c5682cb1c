"""Confirmation of sensitive changes: the user gives the password again, and the second factor if there is one.

A person who finds an open console, or steals its cookie, has neither. The steps keep the fields of the form:

    form of the change --> password --> second factor (if the user has one) --> the change is made
"""

from heliograph.app.admin.sign_in import SecondStep
from heliograph.console.request import FormProblem, PageRequest, PageResponse, passkey_answer, problem_of
from heliograph.domain.error import Fault

PROOFS = frozenset({"csrf", "old", "ticket", "code", "passkey"})
"""Fields of a form that prove who sends it. All other fields belong to the change."""


async def unconfirmed(request: PageRequest, what: str, back: str) -> PageResponse | None:
    """Returns the page that asks for the next proof, or None when the user has given all proofs.

    `what` is the heading, for example "Remove a second factor". `back` is the path of the button *Cancel*.
    """
    form, sign_in = request.form, request.services.admin.sign_in
    ticket, passkey = form.get("ticket", ""), form.get("passkey", "")
    if not ticket and "old" not in form:
        return await _page(request, what, back)
    try:
        if not ticket:
            await sign_in.confirm_fully(request.actor, form.get("old", ""))
        else:
            given = passkey_answer(request.host, passkey) if passkey else form.get("code", "")
            await sign_in.confirm_second(request.actor, ticket, given)
    except SecondStep as step:
        return await _page(request, what, back, step.ticket)
    except Fault as fault:
        return await _page(request, what, back, "" if fault.field == "ticket" else ticket, problem_of(fault))
    return None


async def _page(
    request: PageRequest, what: str, back: str, ticket: str = "", problem: FormProblem | None = None
) -> PageResponse:
    """Asks for the password, or with a ticket for the second factor."""
    sign_in = request.services.admin.sign_in
    options = await sign_in.passkey_options(ticket, request.host, request.actor) if ticket else None
    kept = [(name, text) for name, texts in request.forms.items() if name not in PROOFS for text in texts]
    proofs = [("csrf", request.actor.csrf), *([("ticket", ticket)] if ticket else [])]
    return request.page(
        "confirmation.html",
        status=200 if problem is None else 400,
        what=what,
        back=back,
        ticket=ticket,
        options=options,
        hidden=[*proofs, *kept],
        problem=problem,
    )
